/**
 * Redaction by the field names and text patterns of an application's settings.
 *
 * Redaction covers every part of a value: texts, numbers, member names, and JSON within texts. The time is linear in the size of the
 * value, because patterns are RE2, and two passes over a text find all matches of a pattern (platform/regex). `spend` counts the work
 * (patterns times characters) and may throw to end it. Then no part of the value is returned. Nothing is cached here;
 * the caller keeps a redactor for each settings version.
 *
 * Events are recognised by what was stored of them. So the rules have a version, which is kept with each event, and older versions stay
 * as they were.
 */
import { RE2JS, RE2JSException } from 're2js'
import type { Spend, Work } from '../../../platform/concurrency/work.ts'
import { AppError, type ErrorDetail } from '../../../platform/errors.ts'
import type { Range } from '../../../platform/regex/matches.ts'
import { normalFormOf, withoutAccents } from '../../../platform/text/normal-form.rules.ts'
import { isNumberText, type NumberText } from '../../../platform/validation/exact-number.rules.ts'
import { redactNamesInText } from './redaction-json.ts'
import {
  compileUnits,
  createPattern,
  type Forms,
  formsOf,
  type Pattern,
  SPELLINGS,
} from './redaction-patterns.ts'

export const REDACTED = '[redacted]'

/** The versions of the rules, the oldest first: names of members only; also within texts; also in normal form. */
export type RulesVersion = 1 | 2 | 3
export const PRESENT_RULES: RulesVersion = 3
/**
 * An event that comes again is compared with all of them. The version that is kept with it does not tell which one: during an upgrade a
 * process from before versions were kept revises an event and leaves its version as it is.
 */
export const ALL_RULES: readonly RulesVersion[] = [1, 2, 3]

/** Most instructions of one compiled pattern. At worst each character of a text costs this many steps. */
const MAX_PROGRAM_SIZE = 500

/** Units that a pattern costs for each text, in addition to the text's characters. */
const TEXT_UNITS = 50

/** Deeper than any request can be. Deeper values are replaced as a whole, so the recursion always ends. */
const MAX_DEPTH = 128

export interface Redactor {
  /** True where the settings redact nothing and every value is returned unchanged. */
  readonly isIdentity: boolean
  /** True where members of this name are redacted, with any value. */
  hides(name: string): boolean
  /**
   * Replaces the values of redacted names in JSON within the text, and then every match of every pattern. Adjacent and overlapping
   * matches are replaced as one.
   */
  text(text: string): string
  /**
   * Redacts the texts, member names and numbers of any JSON value. A number is matched by its decimal text.
   * Members that would get the same name get a counter, so that no member is lost.
   */
  value(value: unknown): unknown
  /** The same redactor with its work counted by `spend`. Its methods throw what `spend` throws. */
  within(spend: Spend): Redactor
  /** The redactor as a version of the rules was. */
  under(version: RulesVersion): Redactor
}

const IDENTITY: Redactor = {
  isIdentity: true,
  hides: () => false,
  text: (text) => text,
  value: (value) => value,
  within: () => IDENTITY,
  under: () => IDENTITY,
}

/** Compiles the redaction rules of one settings version. The patterns must have passed `invalidPatterns`. */
export function compileRedaction(settings: RedactionRules): Redactor {
  const { redactedFields, redactedPatterns } = settings
  if (!redactsAnything(settings)) return IDENTITY
  const names = {
    exact: new Set(redactedFields.map((name) => name.toLowerCase())),
    normal: new Set(redactedFields.map(normalName)),
  }
  return redactorOf(names, redactedPatterns.map(createPattern), () => {}, PRESENT_RULES)
}

interface Names {
  readonly exact: ReadonlySet<string>
  readonly normal: ReadonlySet<string>
}

const normalName = (name: string): string =>
  normalFormOf(name.toLowerCase(), withoutAccents).text.toLowerCase()

function redactorOf(
  names: Names,
  patterns: readonly Pattern[],
  spend: Spend,
  version: RulesVersion,
): Redactor {
  const looksIntoTexts = version >= 2 && names.exact.size > 0
  const isNormal = version >= 3
  const hides = (name: string) =>
    names.exact.size > 0 &&
    (names.exact.has(name.toLowerCase()) || (isNormal && names.normal.has(normalName(name))))
  const text = (value: string) => {
    if (looksIntoTexts) spend(value.length)
    const named = looksIntoTexts ? redactNamesInText(value, hides, REDACTED) : value
    return redactText(patterns, named, isNormal, spend)
  }
  const rules = { hides, text, hasPatterns: patterns.length > 0 }
  return {
    isIdentity: false,
    hides,
    text,
    value: (value) => redactValue(rules, value, 0),
    within: (other) => redactorOf(names, patterns, other, version),
    under: (other) => redactorOf(names, patterns, spend, other),
  }
}

/** Units of compiling all patterns. */
export const patternUnits = (patterns: readonly string[]): number =>
  patterns.reduce((sum, pattern) => sum + compileUnits(pattern), 0)

/** Units of compiling all patterns in all spellings. */
const spellingUnits = (patterns: readonly string[]): number => SPELLINGS * patternUnits(patterns)

/** `invalidPatterns` as work: compiling a hostile pattern takes up to 0.2 s. */
export const patternsWork: Work<readonly string[], ErrorDetail[]> = {
  name: 'redaction-patterns',
  run(patterns, spend) {
    spend(patternUnits(patterns))
    return invalidPatterns(patterns)
  },
}

export interface RedactionRules {
  readonly redactedFields: readonly string[]
  readonly redactedPatterns: readonly string[]
}

/** Redacts one text by rules that need not be stored. @throws AppError 400 `validation_failed` for an invalid pattern */
export const previewWork: Work<RedactionRules & { readonly text: string }, string> = {
  name: 'redaction-preview',
  run({ text, ...rules }, spend) {
    // Compiled once to be judged, and once more in each spelling to be used, which counts itself.
    spend(patternUnits(rules.redactedPatterns))
    const details = invalidPatterns(rules.redactedPatterns)
    if (details.length > 0) throw new AppError('validation_failed', 'A pattern is not valid.', { details })
    return compileRedaction(rules).within(spend).text(text)
  },
}

/** Estimated units of `previewWork`. */
export const previewUnits = ({ redactedPatterns }: RedactionRules, text: string): number =>
  patternUnits(redactedPatterns) +
  spellingUnits(redactedPatterns) +
  (SPELLINGS * redactedPatterns.length + 1) * (text.length + TEXT_UNITS)

export const redactsAnything = ({ redactedFields, redactedPatterns }: RedactionRules): boolean =>
  redactedFields.length > 0 || redactedPatterns.length > 0

/** One finding for each pattern that is not valid RE2 or is too complex. Paths have the form `redactedPatterns[3]`. */
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

/** All patterns are matched against the same text, so their order does not matter. */
function redactText(patterns: readonly Pattern[], text: string, isNormal: boolean, spend: Spend): string {
  const ranges: Range[] = []
  const forms: Forms | null = isNormal ? formsOf(text, spend) : null
  for (const pattern of patterns) {
    spend(TEXT_UNITS)
    for (const range of pattern.exact(text, spend)) ranges.push(range)
    if (forms !== null) for (const range of pattern.normal(forms, spend)) ranges.push(range)
  }
  if (ranges.length === 0) return text
  ranges.sort((a, b) => a.start - b.start)
  let result = ''
  let end = 0 // of the text that is copied or redacted so far
  let first = true
  for (const range of ranges) {
    if (first || range.start > end) result += text.slice(end, range.start) + REDACTED
    end = Math.max(end, range.end)
    first = false
  }
  return result + text.slice(end)
}

interface Rules {
  readonly hasPatterns: boolean
  hides(name: string): boolean
  text(text: string): string
}

function redactValue(rules: Rules, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return rules.text(value)
  if (typeof value === 'number' || isNumberText(value)) return redactNumber(rules, value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return REDACTED
  if (Array.isArray(value)) return value.map((item) => redactValue(rules, item, depth + 1))
  return redactMembers(rules, value as Record<string, unknown>, depth)
}

function redactNumber(rules: Rules, value: number | NumberText): unknown {
  const text = String(value)
  return rules.text(text) === text ? value : REDACTED
}

function redactMembers(rules: Rules, value: Record<string, unknown>, depth: number): unknown {
  const names = redactedNames(rules, Object.keys(value))
  const members = Object.entries(value).map(([name, member]) => [
    names?.get(name) ?? name,
    rules.hides(name) ? REDACTED : redactValue(rules, member, depth + 1),
  ])
  // `fromEntries` defines members. An assignment to a member called `__proto__` would set the prototype.
  return Object.fromEntries(members)
}

/** New names of members whose names are redacted; null where no name is. The result does not depend on the order of members. */
function redactedNames(rules: Rules, names: readonly string[]): ReadonlyMap<string, string> | null {
  if (!rules.hasPatterns) return null
  const changed = names
    .map((name) => ({ name, base: rules.text(name) }))
    .filter(({ name, base }) => base !== name)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  if (changed.length === 0) return null
  const renamed = new Map<string, string>()
  const taken = new Set(names)
  /** The last counter tried for each base. A taken name stays taken, so no counter is tried twice. */
  const counters = new Map<string, number>()
  for (const { name, base } of changed) {
    let unique = base
    let counter = counters.get(base) ?? 1
    while (taken.has(unique)) {
      counter++
      unique = `${base} ${counter}`
    }
    counters.set(base, counter)
    taken.add(unique)
    renamed.set(name, unique)
  }
  return renamed
}
