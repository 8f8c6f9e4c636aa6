/**
 * The text that Attendee signs: `json.dumps(payload, sort_keys=True, ensure_ascii=False, separators=(",", ":"))` of Python.
 *
 * Numbers keep the text that they came with, because JavaScript would write Python's `1.0` as `1`. Strings need no care: both write the
 * same escapes. Keys are sorted by code points, as Python sorts them; JavaScript compares UTF-16 units.
 */

/** The canonical text. @throws SyntaxError or RangeError if the text is no JSON, or nested too deep */
export function canonicalJson(text: string): string {
  return write(parseKeepingNumbers(text))
}

/** A number as it stands in the text. */
class NumberText {
  constructor(readonly text: string) {}
}

/** Reviver with the source text of a value (ECMAScript proposal "JSON.parse source text access"). */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

function parseKeepingNumbers(text: string): unknown {
  const keep: SourceReviver = (_, value, { source }) =>
    typeof value === 'number' ? new NumberText(source ?? String(value)) : value
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown)
}

function write(value: unknown): string {
  if (value instanceof NumberText) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => byCodePoint(a, b))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`).join(',')}}`
}

/** The order of UTF-8 bytes is that of code points. */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit
}
