/** The kinds of settings, and functions that declare one of each (`table.ts`). */

interface Described {
  /** What stands in the table of docs/settings.md, in Markdown. */
  readonly text: string
  /** What the table shows as default where the value alone does not say it, in Markdown. */
  readonly shown?: string
}

/** A whole number from `min` to `max`. */
interface IntegerSetting extends Described {
  readonly kind: 'integer'
  readonly default: number
  readonly min: number
  readonly max: number
}

/** One of a few words. Without a default, another setting decides it. */
interface ChoiceSetting extends Described {
  readonly kind: 'choice'
  readonly allowed: readonly string[]
  readonly default?: string
}

/** A URL that starts with one of the protocols, each written as `https:`. */
interface UrlSetting extends Described {
  readonly kind: 'url'
  readonly protocols: readonly string[]
}

/** Any text; `type` names its form. `shown` says what happens without it. */
interface TextSetting extends Described {
  readonly kind: 'text'
  readonly type: string
}

interface DefaultedTextSetting extends Described {
  readonly kind: 'text with default'
  readonly type: string
  readonly default: string
}

export type Setting = IntegerSetting | ChoiceSetting | UrlSetting | TextSetting | DefaultedTextSetting

export const WEB = ['http:', 'https:'] as const

export function integer(
  value: number,
  min: number,
  max: number,
  text: string,
  shown?: string,
): IntegerSetting {
  return { kind: 'integer', default: value, min, max, text, ...(shown === undefined ? {} : { shown }) }
}

export const perMinute = (requests: number, text: string) => integer(requests, 0, 100_000_000, text)

export function url(protocols: readonly string[], shown: string, text: string): UrlSetting {
  return { kind: 'url', protocols, shown, text }
}

export const text = (type: string, shown: string, description: string): TextSetting => ({
  kind: 'text',
  type,
  shown,
  text: description,
})

export const textOr = (type: string, value: string, description: string): DefaultedTextSetting => ({
  kind: 'text with default',
  type,
  default: value,
  text: description,
})
