/** The ids, times and attributes of spans, in both encodings. The JSON encoding is not checked against a schema, so it may hold anything. Pure. */
import type { Attributes } from './attributes.rules.ts'
import type { AnyValue, KeyValue, SentId, SentTime } from './model.ts'

const HEX = /^[0-9a-f]+$/i
const NULL_ID = /^0*$/

/**
 * An id of `bytes` bytes as hexadecimal text; null where it is absent or invalid. The binary encoding has bytes. The JSON encoding has
 * hexadecimal text, but is not checked against a schema here, so it may hold anything.
 */
export function idOf(id: SentId, bytes: number): string | null {
  const text = hexOf(id, bytes)
  return text.length === 2 * bytes && HEX.test(text) && !NULL_ID.test(text) ? text.toLowerCase() : null
}

/** The text of an id; empty where it is none. */
function hexOf(id: SentId, bytes: number): string {
  if (typeof id === 'string') return id
  return id instanceof Uint8Array && id.length === bytes ? Buffer.from(id).toString('hex') : ''
}

/** Whether a span has no parent: the id is missing, empty or zero. */
export function isAbsent(id: SentId): boolean {
  if (id === null || id === undefined) return true
  return typeof id === 'string'
    ? NULL_ID.test(id)
    : id instanceof Uint8Array && id.every((byte) => byte === 0)
}

/** The year 2200. Later times do not fit PostgreSQL’s and ours alike. */
const MAX_MICROSECONDS = 7_258_118_400_000_000

/** Nanoseconds of the years 2010 and 2100: a time in another unit lies between them when it is read in that unit. */
const [EARLY, LATE] = [1.26e18, 4.1e18]
/** Of seconds, milliseconds and microseconds in nanoseconds. */
const OTHER_UNITS = [1e9, 1e6, 1e3]

/**
 * Microseconds since 1970; null where it is no time. The member is in nanoseconds, but programs that write spans by hand send other
 * units.
 */
export function microseconds(time: SentTime): number | null {
  const sent = numberIn(time) ?? Number.NaN
  const unit = OTHER_UNITS.find((factor) => sent * factor > EARLY && sent * factor < LATE) ?? 1
  const value = Math.floor((sent * unit) / 1_000)
  return Number.isSafeInteger(value) && value > 0 && value < MAX_MICROSECONDS ? value : null
}

/**
 * The number of a member; undefined where it has none. `Number` fails for objects with a member `toString`. An object with a function
 * is from the binary decoder, because JSON has none.
 */
function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number' || typeof value === 'string') return Number(value)
  if (typeof value !== 'object' || value === null || !('toNumber' in value)) return undefined
  return typeof value.toNumber === 'function' ? value.toNumber() : undefined
}

/** The objects of a list. The JSON encoding is not checked against a schema, so it may hold anything. */
export function objectsOf<T extends object>(list: readonly T[] | null | undefined): readonly T[] {
  if (!Array.isArray(list)) return []
  return (list as readonly (T | null)[]).filter((one): one is T => typeof one === 'object' && one !== null)
}

export function attributesOf(list: readonly KeyValue[] | null | undefined): Attributes {
  const attributes = new Map<string, unknown>()
  for (const { key, value } of objectsOf(list))
    if (typeof key === 'string') attributes.set(key, plain(value, 0))
  return attributes
}

const MAX_DEPTH = 20

function plain(value: AnyValue | null | undefined, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined
  // JSON within a text cannot be read with U+0000 in it.
  if (typeof value.stringValue === 'string') return value.stringValue.replaceAll('\0', '')
  const number = numberIn(value.intValue) ?? numberIn(value.doubleValue)
  if (number !== undefined) return number
  if (typeof value.boolValue === 'boolean') return value.boolValue
  if (Array.isArray(value.arrayValue?.values))
    return value.arrayValue.values.map((one: AnyValue) => plain(one, depth + 1))
  if (!Array.isArray(value.kvlistValue?.values)) return undefined
  const members = objectsOf<KeyValue>(value.kvlistValue.values).filter(({ key }) => typeof key === 'string')
  return Object.fromEntries(members.map(({ key, value: one }) => [key, plain(one, depth + 1)]))
}

/** The object without its undefined members. */
export function compact<T extends object>(value: T): T {
  const result: Partial<T> = {}
  for (const name in value) if (value[name] !== undefined) result[name] = value[name]
  return result as T
}
