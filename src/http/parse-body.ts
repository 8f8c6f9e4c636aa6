/**
 * Parses the bytes of a body and removes members that its operation does not know.
 *
 * Parsed JSON takes up to 35 times the memory of its text. Values are therefore counted before parsing, and a body with
 * too many is refused. Unknown members are dropped, so that the result is small enough for the HTTP thread.
 */
import type { TSchema } from '@sinclair/typebox'
import { join } from '../platform/concurrency/parts.ts'
import type { Work } from '../platform/concurrency/work.ts'
import { AppError } from '../platform/errors.ts'
import { parseJson } from '../platform/validation/json.ts'

/**
 * Limit for names, texts, lists and objects of one body. 2 MiB of dense table rows, `{"id":1,"name":"x","qty":2}`,
 * contain 375,000. Numbers are not counted, because lists of them take little memory.
 */
export const MAX_VALUES = 500_000
/** Limit for those that remain without unknown members. 10,000 utterances are 60,000. */
export const MAX_KNOWN_VALUES = 100_000

/** Unknown members of one object that are kept, for code that checks for a particular one. Not within lists. */
const MAX_UNKNOWN = 20

export interface BodyInput {
  readonly parts: Uint8Array[]
  /** JSON Schema of the body; null: everything is kept. */
  readonly schema: TSchema | null
}

/** @throws AppError 400 `malformed_json`, `too_many_values`, `validation_failed` if it cannot be stored */
export const parseBodyWork: Work<BodyInput, unknown> = {
  name: 'parse-body',
  run({ parts, schema }, spend) {
    const bytes = join(parts)
    spend(bytes.byteLength)
    const value = parseBounded(bytes)
    return schema === null ? value : createPruner().prune(schema as Shape, value, false)
  },
}

/** Parses a body unless it has too many values. @throws AppError as above */
export function parseBounded(bytes: Uint8Array, parse: (bytes: Uint8Array) => unknown = parseJson): unknown {
  // At most every second byte begins a value.
  if (bytes.byteLength > MAX_VALUES && countValues(bytes) > MAX_VALUES) throw tooMany(MAX_VALUES)
  return parse(bytes)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const BRACE = 0x7b

/** Counts the names, texts, lists and objects of a JSON text. The result for invalid JSON is arbitrary. */
export function countValues(bytes: Uint8Array): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === BRACKET || byte === BRACE) count++
    else if (byte === QUOTE) {
      count++
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
    }
  }
  return count
}

/** The part of a JSON Schema that lists the known members. */
interface Shape {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: unknown
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
}

function createPruner() {
  let values = 0
  const count = (more: number) => {
    values += more
    if (values > MAX_KNOWN_VALUES) throw tooMany(MAX_KNOWN_VALUES)
  }

  function prune(shape: Shape | undefined, value: unknown, inList: boolean): unknown {
    if (typeof value === 'string') count(1)
    if (typeof value !== 'object' || value === null) return value
    count(1)
    if (Array.isArray(value)) {
      const items = optionFor(shape, 'array')?.items
      return value.map((item) => prune(items, item, true))
    }
    const known = optionFor(shape, 'object')?.properties
    return pruneMembers(known, value as Readonly<Record<string, unknown>>, inList)
  }

  function pruneMembers(
    known: Shape['properties'],
    value: Readonly<Record<string, unknown>>,
    inList: boolean,
  ): unknown {
    const members: [string, unknown][] = []
    let unknown = 0
    for (const name in value) {
      const member = value[name]
      if (known === undefined || Object.hasOwn(known, name)) {
        count(1)
        members.push([name, prune(known?.[name], member, inList)])
      } else if (++unknown <= MAX_UNKNOWN && !inList) members.push([name, hollow(member)])
    }
    // Defines members instead of assigning them, because one may be called `__proto__`.
    return Object.fromEntries(members)
  }

  return { prune }
}

/**
 * The only alternative of a schema for lists, or for objects; undefined if it is ambiguous, so that everything is kept.
 */
function optionFor(shape: Shape | undefined, type: 'array' | 'object'): Shape | undefined {
  if (shape?.anyOf === undefined) return shape?.type === type ? shape : undefined
  const options = shape.anyOf.filter((option) => option.type === type)
  return options.length === 1 ? options[0] : undefined
}

/** The value of an unknown member without its content. */
function hollow(value: unknown): unknown {
  if (Array.isArray(value)) return []
  return typeof value === 'object' && value !== null ? {} : value
}

function tooMany(limit: number): AppError {
  const what =
    limit === MAX_VALUES
      ? `more than ${limit} names, texts, lists and objects`
      : `more than ${limit} names, texts, lists and objects in known members`
  return new AppError('too_many_values', `The request body has ${what}.`, { extra: { limit } })
}
