/** Reads members of parsed lines, whose shape is never certain. Pure. */
import { isNumberText, parseExact } from '../../../platform/validation/exact-number.rules.ts'
import { toUtc } from '../../../platform/validation/rfc3339.ts'

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown): Members | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null
}

/** null: the line is no JSON object. */
export function parseLine(line: string): Members | null {
  try {
    return membersOf(parseExact(line))
  } catch {
    return null
  }
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

/** A session sums them. More than any program counts in one message. */
const MAX_TOKENS = 10_000_000_000

/** A number of tokens; 0 for anything else. */
export const tokensOf = (value: unknown): number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TOKENS ? value : 0

/** Says that a line could not be used in full: it has a number of tokens that no program counts, which is left out. */
export function skippedUsage(...usages: readonly unknown[]): readonly { readonly fact: 'skip' }[] {
  const values = usages.flatMap((usage) => Object.values(membersOf(usage) ?? {}))
  return values.some(isBeyondCounting) ? [{ fact: 'skip' }] : []
}

function isBeyondCounting(value: unknown): boolean {
  const number = isNumberText(value) ? Number(value()) : value
  return typeof number === 'number' && (number < 0 || number > MAX_TOKENS)
}

/** RFC 3339 in UTC; null for anything else. */
export const timeOf = (value: unknown): string | null => (typeof value === 'string' ? toUtc(value) : null)

/** A name followed by a scalar, at the start of an object or after another member. */
const SCALAR_MEMBER =
  /\s*[{,]\s*"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|true|false|null|-?[\d.eE+-]+)/y

/** UTF-16 code units. The expression takes half a second for a megabyte of escaped quotes. */
const MAX_HEAD = 64 * 1024

/**
 * The value of a member of the outermost object, read without parsing the line. null: there is none, or an object, a list or a very
 * long text comes before it.
 */
export function scalarMember(line: string, name: string): string | null {
  const head = line.slice(0, MAX_HEAD)
  SCALAR_MEMBER.lastIndex = 0
  for (let found = SCALAR_MEMBER.exec(head); found !== null; found = SCALAR_MEMBER.exec(head))
    if (found[1] === name) return found[2] ?? null
  return null
}
