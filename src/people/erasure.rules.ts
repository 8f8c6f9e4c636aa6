/**
 * Finds a person by name and e-mail address in free text. Pure.
 *
 * It prefers to erase too much over too little. Names match as whole words, in any case and with any white space. Each
 * longer word of a name also matches alone. What the expression repeats is never what follows it, so it runs in linear time.
 */

import { addressForms, UNSEEN } from '../platform/validation/user-address.ts'

/** Replaces the erased text. */
export const ERASED = '[erased]'

/** Shortest word of a name that is searched for alone. Shorter ones ("de", "J.") are part of ordinary text. */
const MIN_WORD_LENGTH = 3
/** A name of one letter would erase that letter everywhere. */
const MIN_NAME_LENGTH = 2

export interface Terms {
  readonly email: string | null
  readonly names: readonly string[]
  /** Addresses in lower case: other forms of the address, and those of people who were merged into this one. */
  readonly formerEmails?: readonly string[]
}

/** What identifies a person by name. */
export interface Named {
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

export interface Eraser {
  /** The text with the person erased. */
  text(text: string): string
  /** The JSON value with the person erased from texts and member names. Returns the same value if nothing changes. */
  value<T>(value: T): T
}

/**
 * Search terms of a person: first and last name together in either order, and each of them. Also those of the people who were merged
 * into this one.
 */
export function termsOf(person: Named, merged: readonly Named[] = []): Terms {
  const names = [person, ...merged].flatMap(namesOf)
  const former = merged.flatMap(({ email }) => (email === null ? [] : [email.trim().toLowerCase()]))
  const own = person.email?.trim() || null
  const forms = [...(own === null ? [] : [own]), ...former].flatMap(addressForms)
  return {
    email: own,
    names: [...new Set(names)],
    formerEmails: [...new Set([...former, ...forms])].filter((email) => email !== own),
  }
}

function namesOf({ firstName, lastName }: Named): readonly string[] {
  const first = firstName?.trim() ?? ''
  const last = lastName?.trim() ?? ''
  const whole =
    first === '' || last === '' ? [] : [`${first} ${last}`, `${last} ${first}`, `${last}, ${first}`]
  return [...whole, ...[first, last].filter((name) => name !== '')]
}

/** Scripts that write words without spaces, or join endings to a name. */
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

export function createEraser({ email, names, formerEmails = [] }: Terms): Eraser {
  const emails = [...(email === null ? [] : [email]), ...formerEmails]
  const expression = expressionOf(emails, names)
  const text = (value: string) => (expression === null ? value : value.replaceAll(expression, ERASED))
  return { text, value: (value) => eraseValue(text, value) as typeof value }
}

function expressionOf(emails: readonly string[], names: readonly string[]): RegExp | null {
  const words = names.flatMap((name) => [
    ...(length(name) < MIN_NAME_LENGTH ? [] : [name]),
    ...name.split(/[\s,]+/u).filter((word) => length(word) >= MIN_WORD_LENGTH),
  ])
  const forms = new Set(words.flatMap((word) => [word.normalize('NFC'), word.normalize('NFD')]))
  // An alternation takes the first match, so longer forms come first.
  const sorted = [...forms].sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
  const alternatives = [...emails.flatMap(emailPatterns), ...sorted.map(namePattern)]
  return alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'giu')
}

const length = (text: string) => [...text].length

function emailPatterns(email: string): readonly string[] {
  const forms = new Set([email.replaceAll(UNSEEN, ''), encodeURIComponent(email)])
  return [...forms].map((form) => {
    // What is not seen may stand between any two characters.
    const pattern = [...form].map(literal).join(`(?:${UNSEEN.source})*`)
    return `(?<![\\p{L}\\p{N}._+-])${pattern}(?![\\p{L}\\p{N}])`
  })
}

function namePattern(name: string): string {
  const pattern = name.split(/\s+/u).map(literal).join('\\s+')
  return WITHOUT_SPACES.test(name) ? pattern : `(?<![\\p{L}\\p{M}\\p{N}])${pattern}(?![\\p{L}\\p{M}\\p{N}])`
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function eraseValue(text: (value: string) => string, value: unknown): unknown {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => eraseValue(text, item))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  return eraseMembers(text, value as Record<string, unknown>)
}

/** Member names that become equal get a counter, so that no member is lost. */
function eraseMembers(text: (value: string) => string, value: Record<string, unknown>): unknown {
  const taken = new Set(Object.keys(value))
  const counters = new Map<string, number>()
  const unique = (base: string) => {
    let name = base
    while (taken.has(name)) {
      const next = (counters.get(base) ?? 1) + 1
      counters.set(base, next)
      name = `${base} ${next}`
    }
    taken.add(name)
    return name
  }
  let changed = false
  const members = Object.entries(value).map(([name, member]) => {
    const erased = text(name)
    const kept = eraseValue(text, member)
    changed ||= erased !== name || kept !== member
    return [erased === name ? name : unique(erased), kept] as const
  })
  return changed ? Object.fromEntries(members) : value
}
