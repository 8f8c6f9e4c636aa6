/**
 * Reads single settings from the environment by their declarations. An error is one line that names the variable, its value and
 * what is allowed. Values of secret variables are never repeated.
 */
import { readAddress } from './platform/db/address.ts'
import { trimEndOf } from './platform/validation/trim.ts'
import { type ChoiceOf, type NameOf, SETTINGS } from './settings.ts'

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables whose value must not be repeated in a message. */
const SECRET = /(_URL|_KEY|_SECRET|_PASSWORD|_TOKEN)$/

/** Refuses a value. @throws ConfigError always */
export function fail(name: string, value: string, allowed: string): never {
  const shown = SECRET.test(name) ? '(value hidden)' : JSON.stringify(value)
  throw new ConfigError(`${name} is ${shown}, but must be ${allowed}`)
}

/** In characters: 256 bits in base64. */
const MIN_SECRET = 43

const ESCAPES = '# as %23, / as %2F, ? as %3F and @ as %40'

/** Whether a user name or password ends early at one of its characters (RFC 3986 section 3.2): its rest, with the @, is no longer before the host. */
const isCut = (value: string, url: URL | null) =>
  value.includes('@') && (url === null || url.hash !== '' || `${url.pathname}${url.search}`.includes('@'))

/** Reads variables as `settings.ts` declares them. Each method throws `ConfigError` for a value that is not allowed. */
export function reader(env: Environment) {
  const known = new Set<string>()
  const get = (name: string) => {
    known.add(name)
    const value = env[name]?.trim()
    return value === '' ? undefined : value
  }
  return {
    text: (name: NameOf<'text'>) => get(name) ?? null,
    textOrDefault: (name: NameOf<'text with default'>) => get(name) ?? SETTINGS[name].default,
    secret(name: NameOf<'text'>) {
      const value = get(name)
      if (value !== undefined && value.length < MIN_SECRET)
        fail(name, value, `at least ${MIN_SECRET} characters`)
      return value ?? null
    },
    integer(name: NameOf<'integer'>) {
      const { default: fallback, min, max } = SETTINGS[name]
      const value = get(name)
      if (value === undefined) return fallback
      const number = Number(value)
      if (!/^\d+$/.test(value) || number < min || number > max)
        fail(name, value, `a whole number from ${min} to ${max}`)
      return number
    },
    oneOf<N extends NameOf<'choice'>>(name: N, fallback: ChoiceOf<N>): ChoiceOf<N> {
      const allowed: readonly ChoiceOf<N>[] = SETTINGS[name].allowed
      const value = get(name)
      if (value === undefined) return fallback
      const found = allowed.find((candidate) => candidate === value)
      return found ?? fail(name, value, `one of ${allowed.join(', ')}`)
    },
    url(name: NameOf<'url'>) {
      const { protocols } = SETTINGS[name]
      const value = get(name)
      if (value === undefined) return null
      const allowed = `a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`
      const url = URL.parse(value)
      if (!protocols.some((protocol) => protocol.startsWith('http')) && isCut(value, url))
        fail(name, value, `${allowed}; write ${ESCAPES} in a user name or password`)
      if (url === null || !protocols.includes(url.protocol)) fail(name, value, allowed)
      return trimEndOf(value, '/')
    },
    /** A PostgreSQL URL, which may name several hosts. */
    databaseUrl(name: NameOf<'url'>) {
      const value = get(name)
      if (value === undefined) return null
      if (readAddress(value) === null)
        fail(
          name,
          value,
          `a URL that starts with postgres:// or postgresql://; write ${ESCAPES} in a user name or password`,
        )
      return trimEndOf(value, '/')
    },
    /** Variables that no setting has been read from so far. */
    others: () =>
      Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) =>
          value === undefined || known.has(name) ? [] : [[name, value]],
        ),
      ),
  }
}
