/**
 * From the bytes of a body to a validated value: UTF-8, JSON, shape.
 *
 * The rule: whatever passes here can be stored. PostgreSQL holds neither U+0000 nor unpaired surrogates, and
 * refuses deep nesting; a number such as 1e400 has become Infinity by the time it is parsed (RFC 8259 section 6
 * leaves its range open). All of these end as 400 here, never as 500 later.
 */
import type { Static, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { AppError, type ErrorDetail } from '../platform/errors.ts'
import { findingsOf } from '../platform/validation/findings.ts'

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
  assertStorable(value, SUSPICIOUS_ESCAPE.test(text), '', 0)
  return value
}

function assertStorable(value: unknown, strings: boolean, path: string, depth: number): void {
  if (typeof value === 'string') {
    if (strings && !isStorableText(value))
      throw unstorable(path, 'must not contain U+0000 or an unpaired surrogate')
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw unstorable(path, 'is a number out of range')
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= MAX_DEPTH) throw unstorable('', `must not be nested deeper than ${MAX_DEPTH} levels`)
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++)
        assertStorable(value[index], strings, `${path}[${index}]`, depth + 1)
    } else {
      for (const key in value) {
        if (strings && !isStorableText(key))
          throw unstorable(path, 'must not contain U+0000 or an unpaired surrogate in a member name')
        assertStorable(
          (value as Record<string, unknown>)[key],
          strings,
          path === '' ? key : `${path}.${key}`,
          depth + 1,
        )
      }
    }
  }
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
