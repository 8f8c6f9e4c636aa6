/**
 * Turns the bytes of a body into a validated value: UTF-8, JSON, schema.
 *
 * Every accepted value can be stored. PostgreSQL accepts neither U+0000 nor unpaired surrogates nor deep nesting, and a
 * number such as 1e400 becomes Infinity when parsed (RFC 8259 section 6 leaves the range open). All of these are 400
 * here instead of 500 later. A number that a double cannot hold keeps its text (exact-number.rules.ts).
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { AppError, type ErrorDetail } from '../errors.ts'
import { isNumberText, nearestMeasure, parseExact } from './exact-number.rules.ts'
import { findingsOf } from './findings.ts'

/** Maximum nesting of arrays and objects. */
const MAX_DEPTH = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** An escape that could produce U+0000 or a surrogate. Without one, strings need no check. */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/

/**
 * Parses JSON text and checks that it can be stored.
 * @throws AppError 400 `malformed_json`, or `validation_failed` with the path
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = parseExact(text)
  } catch {
    throw new AppError('malformed_json', 'The request body is not valid JSON in UTF-8.')
  }
  const finding = findUnstorable(value, SUSPICIOUS_ESCAPE.test(text), 0)
  if (finding !== null) throw unstorable(pathOf(finding.place), finding.message)
  return value
}

interface Unstorable {
  /** From the innermost part outward. */
  readonly place: (string | number)[]
  readonly message: string
}

const BAD_TEXT = 'must not contain U+0000 or an unpaired surrogate'

/** Builds the path only if something is wrong, because almost all values are fine. */
function findUnstorable(value: unknown, strings: boolean, depth: number): Unstorable | null {
  if (typeof value === 'string')
    return strings && !isStorableText(value) ? { place: [], message: BAD_TEXT } : null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { place: [], message: 'is a number out of range' }
  if (typeof value !== 'object' || value === null) return null
  if (depth >= MAX_DEPTH) throw unstorable('', `must not be nested deeper than ${MAX_DEPTH} levels`)
  return Array.isArray(value)
    ? findInList(value, strings, depth)
    : findInObject(value as Readonly<Record<string, unknown>>, strings, depth)
}

function findInList(list: readonly unknown[], strings: boolean, depth: number): Unstorable | null {
  for (let index = 0; index < list.length; index++) {
    const finding = findUnstorable(list[index], strings, depth + 1)
    if (finding === null) continue
    finding.place.push(index)
    return finding
  }
  return null
}

function findInObject(
  object: Readonly<Record<string, unknown>>,
  strings: boolean,
  depth: number,
): Unstorable | null {
  for (const name in object) {
    if (strings && !isStorableText(name)) return { place: [], message: `${BAD_TEXT} in a member name` }
    const finding = findUnstorable(object[name], strings, depth + 1)
    if (finding === null) continue
    finding.place.push(name)
    return finding
  }
  return null
}

/** `events[3].content` */
function pathOf(place: readonly (string | number)[]): string {
  return place.reduceRight<string>(
    (path, part) => (typeof part === 'number' ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
    '',
  )
}

/** Whether PostgreSQL can store the text: no U+0000, every surrogate paired. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** The text without U+0000, and with U+FFFD in place of unpaired surrogates. */
export function toStorableText(text: string): string {
  return isStorableText(text) ? text : text.replaceAll('\0', '').toWellFormed()
}

function unstorable(path: string, message: string): AppError {
  return invalid([{ path, code: 'not_storable', message }])
}

/** 400 `validation_failed` with its findings; `unknown_member` if there are only unknown members. */
export function invalid(details: readonly ErrorDetail[]): AppError {
  const code =
    details.length > 0 && details.every((d) => d.code === 'unknown_member')
      ? 'unknown_member'
      : 'validation_failed'
  const first = details[0]
  const message =
    first === undefined ? 'The request is not valid.' : `${first.path || 'The request'}: ${first.message}`
  return new AppError(code, message, { details })
}

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>()

/**
 * Checks a value against a schema, which is compiled on first use.
 * @throws AppError 400 with one finding per invalid value
 */
export function validate<S extends TSchema>(schema: S, value: unknown): Static<S> {
  let check = compiled.get(schema)
  if (check === undefined) {
    check = TypeCompiler.Compile(schema as TSchema)
    compiled.set(schema, check)
  }
  if (check.Check(value) || (roundMeasures(check, value) && check.Check(value))) return value as Static<S>
  const found = findingsOf(check.Errors(value))
  if (found.length > 0) throw invalid(found)
  return value as Static<S>
}

/**
 * Some programs write more digits of a fraction than a double holds. Where a number is asked, the nearest one is taken.
 * @returns whether a number was replaced
 */
function roundMeasures(check: TypeCheck<TSchema>, value: unknown): boolean {
  let hasRounded = false
  for (const { path, schema, value: given } of check.Errors(value)) {
    const measure = isNumberText(given) && schema.type === 'number' ? nearestMeasure(given) : undefined
    if (measure === undefined) continue
    const names = path
      .slice(1)
      .split('/')
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop()
    const holder = names.reduce(
      (node, name) => node?.[name] as Holder | undefined,
      value as Holder | undefined,
    )
    if (holder === undefined || last === undefined || last === '__proto__') continue
    holder[last] = measure
    hasRounded = true
  }
  return hasRounded
}

type Holder = { [name: string]: unknown }
