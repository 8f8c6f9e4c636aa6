/**
 * Redaction: the field names and text patterns of an application's settings, compiled.
 *
 * The rule: what a setting names never gets past this file, wherever in a value it stands, member names included.
 * Patterns are RE2 and run in linear time (`re2js`): they come from users, and a backtracking engine can be made
 * to run for hours by one of them. Nothing here is cached: the caller keeps a redactor per settings version.
 */
import { RE2JS, RE2JSException } from 're2js'
import type { ErrorDetail } from '../platform/errors.ts'
import type { AgentSettings } from './settings.ts'

export const REDACTED = '[redacted]'

/** Instructions of one compiled pattern: linear time is the length of the text times this, at worst. */
const MAX_PROGRAM_SIZE = 500

/** Deeper than any request can be: what is below is redacted whole, so that the walk always ends. */
const MAX_DEPTH = 128

export interface Redactor {
  /** Nothing is configured: every value comes back as it is. */
  readonly isIdentity: boolean
  /** True where the value of a member of this name is redacted, whatever it is. */
  hides(name: string): boolean
  /** The text with every match of every pattern replaced; touching and overlapping matches become one. */
  text(text: string): string
  /**
   * Any JSON value with its texts, its member names and its numbers redacted. A number counts as its decimal text.
   * Members that would end up with the same name get a counter, so that none is lost.
   */
  value(value: unknown): unknown
}

const IDENTITY: Redactor = {
  isIdentity: true,
  hides: () => false,
  text: (text) => text,
  value: (value) => value,
}

/** Compiles the redaction rules of one settings version. The patterns must have passed `invalidPatterns`. */
export function compileRedaction(
  settings: Pick<AgentSettings, 'redactedFields' | 'redactedPatterns'>,
): Redactor {
  if (settings.redactedFields.length === 0 && settings.redactedPatterns.length === 0) return IDENTITY
  const names = new Set(settings.redactedFields.map((name) => name.toLowerCase()))
  const patterns = settings.redactedPatterns.map((pattern) => RE2JS.compile(pattern))
  const hides = (name: string) => names.size > 0 && names.has(name.toLowerCase())
  const text = (value: string) => redactText(patterns, value)
  const rules = { hides, text, hasPatterns: patterns.length > 0 }
  return { isIdentity: false, hides, text, value: (value) => redactValue(rules, value, 0) }
}

/** One finding for each pattern that is no RE2 pattern or costs too much. Paths read `redactedPatterns[3]`. */
export function invalidPatterns(patterns: readonly string[]): ErrorDetail[] {
  return patterns.flatMap((pattern, index) => {
    const message = whyInvalid(pattern)
    return message === null ? [] : [{ path: `redactedPatterns[${index}]`, code: 'pattern', message }]
  })
}

function whyInvalid(pattern: string): string | null {
  try {
    return RE2JS.compile(pattern).programSize() > MAX_PROGRAM_SIZE ? 'is too complex: repeat less' : null
  } catch (error) {
    if (error instanceof RE2JSException) return `must be an RE2 pattern: ${error.message}`
    throw error
  }
}

/** Every pattern sees the original text, so the order of the patterns does not matter. */
function redactText(patterns: readonly RE2JS[], text: string): string {
  const ranges = patterns.flatMap((pattern) => matchesOf(pattern, text))
  if (ranges.length === 0) return text
  ranges.sort((a, b) => a.start - b.start)
  let result = ''
  let end = 0 // of what is written or redacted
  let first = true
  for (const range of ranges) {
    if (first || range.start > end) result += text.slice(end, range.start) + REDACTED
    end = Math.max(end, range.end)
    first = false
  }
  return result + text.slice(end)
}

interface Range {
  readonly start: number
  readonly end: number
}

function matchesOf(pattern: RE2JS, text: string): Range[] {
  const ranges: Range[] = []
  // Finding where costs several times more than finding whether, and most texts hold nothing.
  if (!pattern.test(text)) return ranges
  const matcher = pattern.matcher(text)
  while (matcher.find()) {
    // A pattern such as `x*` also matches the nothing between two characters.
    if (matcher.end() > matcher.start()) ranges.push({ start: matcher.start(), end: matcher.end() })
  }
  return ranges
}

interface Rules {
  readonly hasPatterns: boolean
  hides(name: string): boolean
  text(text: string): string
}

function redactValue(rules: Rules, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return rules.text(value)
  if (typeof value === 'number') return rules.text(String(value)) === String(value) ? value : REDACTED
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return REDACTED
  if (Array.isArray(value)) return value.map((item) => redactValue(rules, item, depth + 1))
  return redactMembers(rules, value as Record<string, unknown>, depth)
}

function redactMembers(rules: Rules, value: Record<string, unknown>, depth: number): unknown {
  const names = redactedNames(rules, Object.keys(value))
  const members = Object.entries(value).map(([name, member]) => [
    names?.get(name) ?? name,
    rules.hides(name) ? REDACTED : redactValue(rules, member, depth + 1),
  ])
  // Defines members rather than assigning them: one may be called `__proto__`.
  return Object.fromEntries(members)
}

/** New names of the members whose names are redacted; null where none is. Does not depend on their order. */
function redactedNames(rules: Rules, names: readonly string[]): ReadonlyMap<string, string> | null {
  if (!rules.hasPatterns) return null
  const changed = names.filter((name) => rules.text(name) !== name).sort()
  if (changed.length === 0) return null
  const renamed = new Map<string, string>()
  const taken = new Set(names)
  for (const name of changed) {
    const base = rules.text(name)
    let unique = base
    for (let counter = 2; taken.has(unique); counter++) unique = `${base} ${counter}`
    taken.add(unique)
    renamed.set(name, unique)
  }
  return renamed
}
