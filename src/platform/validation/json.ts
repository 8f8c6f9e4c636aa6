/**
 * From the bytes of a body to a validated value: UTF-8, JSON, shape.
 *
 * The rule: whatever passes here can be stored. PostgreSQL holds neither U+0000 nor unpaired surrogates, and
 * refuses deep nesting; a number such as 1e400 has become Infinity by the time it is parsed (RFC 8259 section 6
 * leaves its range open). All of these end as 400 here, never as 500 later.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { AppError, type ErrorDetail } from '../errors.ts'
import { findingsOf } from './findings.ts'

/** Levels of arrays and objects in one body. */
export const MAX_DEPTH = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** An escape that could make U+0000 or a surrogate; only then are strings looked at one by one. */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/

/**
 * Parses JSON text and checks that it can be stored.
 * @throws AppError 400 `malformed_json`, or `validation_failed` naming the place
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    throw new AppError('malformed_json', 'The request body is not valid JSON in UTF-8.')
  }
  const finding = whyUnstorable(value, SUSPICIOUS_ESCAPE.test(text), 0)
  if (finding !== null) throw unstorable(pathOf(finding.place), finding.message)
  return value
}

interface Unstorable {
  /** From the inside out. */
  readonly place: (string | number)[]
  readonly message: string
}

const BAD_TEXT = 'must not contain U+0000 or an unpaired surrogate'

/** Names the place only where something is wrong: most values are fine, and many. */
function whyUnstorable(value: unknown, strings: boolean, depth: number): Unstorable | null {
  if (typeof value === 'string')
    return strings && !isStorableText(value) ? { place: [], message: BAD_TEXT } : null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { place: [], message: 'is a number out of range' }
  if (typeof value !== 'object' || value === null) return null
  if (depth >= MAX_DEPTH) throw unstorable('', `must not be nested deeper than ${MAX_DEPTH} levels`)
  return Array.isArray(value)
    ? whyListUnstorable(value, strings, depth)
    : whyObjectUnstorable(value as Readonly<Record<string, unknown>>, strings, depth)
}

function whyListUnstorable(list: readonly unknown[], strings: boolean, depth: number): Unstorable | null {
  for (let index = 0; index < list.length; index++) {
    const finding = whyUnstorable(list[index], strings, depth + 1)
    if (finding === null) continue
    finding.place.push(index)
    return finding
  }
  return null
}

function whyObjectUnstorable(
  object: Readonly<Record<string, unknown>>,
  strings: boolean,
  depth: number,
): Unstorable | null {
  for (const name in object) {
    if (strings && !isStorableText(name)) return { place: [], message: `${BAD_TEXT} in a member name` }
    const finding = whyUnstorable(object[name], strings, depth + 1)
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

/** True for text that PostgreSQL can hold: no U+0000, every surrogate paired. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

function unstorable(path: string, message: string): AppError {
  return invalid([{ path, code: 'not_storable', message }])
}

/** 400 `validation_failed` with its findings; `unknown_member` where an unknown member is the only trouble. */
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
 * Checks a value against a schema, compiled on first use.
 * @throws AppError 400 with one finding per wrong place
 */
export function validate<S extends TSchema>(schema: S, value: unknown): Static<S> {
  let check = compiled.get(schema)
  if (check === undefined) {
    check = TypeCompiler.Compile(schema as TSchema)
    compiled.set(schema, check)
  }
  if (check.Check(value)) return value as Static<S>
  const found = findingsOf(check.Errors(value))
  if (found.length > 0) throw invalid(found)
  return value as Static<S>
}
