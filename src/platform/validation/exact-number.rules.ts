/**
 * Numbers that a double cannot hold, such as 9007199254740993, keep their text from the parser to the database and back. Pure.
 *
 * Such a number is a function. No schema but that of any value accepts a function, code that walks through objects and texts leaves it
 * alone, and `JSON.stringify` writes what its `toJSON` returns. So it is refused wherever a number, a text or an object is asked, and
 * passes unchanged wherever any JSON may stand.
 */

/** A number as it was sent. A call returns its text. */
export interface NumberText {
  (): string
  toJSON(): unknown
  toString(): string
}

/** ECMAScript proposal "JSON.parse source text access". */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

function numberText(text: string): NumberText {
  return Object.assign(() => text, { toJSON: () => rawJSON(text), toString: () => text })
}

/** JSON has no functions, so none comes from elsewhere. */
export const isNumberText = (value: unknown): value is NumberText => typeof value === 'function'

/** A number that may need its text: 16 characters of digits, or an exponent that is positive or far below zero. Texts that look like it are parsed more slowly. */
const MAY_BE_INEXACT = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE](?:\+?\d|-\d{3}))/

/** Smaller numbers have fewer digits, or none. */
const SMALLEST_NORMAL = 2 ** -1022

/** Reviver with the source text of a value (ECMAScript proposal "JSON.parse source text access"). */
type SourceReviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown

const keepExact: SourceReviver = (_, value, { source }) =>
  typeof value === 'number' && source !== undefined ? exactNumber(source) : value

const keepDecimal: SourceReviver = (_, value, { source }) =>
  typeof value === 'number' && source !== undefined && !isSameDecimal(source, String(value))
    ? exactNumber(source)
    : value

const parseWith = (text: string, reviver: SourceReviver): unknown =>
  MAY_BE_INEXACT.test(text)
    ? JSON.parse(text, reviver as (name: string, value: unknown) => unknown)
    : JSON.parse(text)

/** `JSON.parse` with a `NumberText` for each number that a double cannot hold. @throws SyntaxError; RangeError if nested too deep */
export const parseExact = (text: string): unknown => parseWith(text, keepExact)

/** As `parseExact`, of JSON that PostgreSQL wrote: it writes every digit, so that 1e308 is no longer the text that was sent, but the same number. */
export const parseStored = (text: string): unknown => parseWith(text, keepDecimal)

/** The value of a number of JSON: its text if a double cannot hold it. Beyond the range of doubles it is infinite. */
export function exactNumber(text: string): number | NumberText {
  const value = Number(text)
  if (!Number.isFinite(value) || String(value) === text) return value
  // Where integers end, JavaScript writes other texts than it read.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return numberText(text)
  const hasAllDigits = text.length <= 15 && Math.abs(value) >= SMALLEST_NORMAL
  return hasAllDigits || isSameDecimal(text, String(value)) ? value : numberText(text)
}

function isSameDecimal(one: string, other: string): boolean {
  const [a, b] = [decimalOf(one), decimalOf(other)]
  return a.digits === b.digits && (a.exponent === b.exponent || a.digits === '') && a.sign === b.sign
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Digits without zeros at their ends, and the power of ten of the last one. */
function decimalOf(text: string) {
  const [, sign = '', whole = '', part = '', power = '0'] = DECIMAL.exec(text) ?? []
  const all = `${whole}${part}`
  let [start, end] = [0, all.length]
  while (start < end && all[start] === '0') start++
  while (end > start && all[end - 1] === '0') end--
  return {
    sign: sign === '-' && end > start,
    digits: all.slice(start, end),
    exponent: Number(power) - part.length + (all.length - end),
  }
}

/** Replaces the children of a list or an object in place, without the accessors that `__proto__` would call. */
function mapChildren(value: unknown, change: (child: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const name of Object.keys(value)) {
    const child = (value as Record<string, unknown>)[name]
    const changed = change(child)
    if (changed !== child)
      Object.defineProperty(value, name, {
        value: changed,
        enumerable: true,
        configurable: true,
        writable: true,
      })
  }
  return value
}

/** What a message to another thread may contain in the place of a number, and what JSON never does. */
type Packed = Map<'number', string>

/** Prepares a value for another thread, which receives no functions. Only lists and objects of JSON are looked into. */
export function packNumbers(value: unknown): unknown {
  if (isNumberText(value)) return new Map([['number', value()]]) satisfies Packed
  return isPlain(value) ? mapChildren(value, packNumbers) : value
}

export function unpackNumbers(value: unknown): unknown {
  if (value instanceof Map) return numberText(String(value.get('number')))
  return isPlain(value) ? mapChildren(value, unpackNumbers) : value
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return true
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The number that is nearest, for measures that need no more digits; undefined for an integer. */
export function nearestMeasure(value: NumberText): number | undefined {
  const number = Number(value())
  return Number.isInteger(number) ? undefined : number
}
