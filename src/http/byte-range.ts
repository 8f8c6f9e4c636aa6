/**
 * Which part of a representation a request wants (RFC 9110, section 14), and whether the client has it already (section 13). Pure.
 *
 * The rule: one range or the whole. What we do not understand, other units and several ranges are answered with the whole, as the RFC
 * has it; and so is a part of something that the client has an older copy of (`If-Range`).
 */

/** Half-open: `end` is not part of it. */
export type Part = { readonly start: number; readonly end: number } | 'whole' | 'unsatisfiable'

const RANGE = /^bytes[ \t]*=[ \t]*(?:(\d+)[ \t]*)?-[ \t]*(?:(\d+)[ \t]*)?$/i

/** The part of `size` bytes with the strong `etag` that a GET with these headers asks for. */
export function partOf(headers: Headers, size: number, etag: string): Part {
  const range = headers.get('range')
  const ifRange = headers.get('if-range')
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return 'whole'
  const [, first = '', last = ''] = RANGE.exec(range) ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') {
    const start = Math.max(0, size - Number(last)) // the last so many bytes
    return start === size ? 'unsatisfiable' : { start, end: size }
  }
  const start = Number(first)
  if (start >= size) return 'unsatisfiable'
  if (last !== '' && Number(last) < start) return 'whole'
  return { start, end: last === '' ? size : Math.min(size, Number(last) + 1) }
}

/** Whether `If-None-Match` names the representation with this tag, weakly compared (RFC 9110, section 13.1.2). */
export function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  const strong = (tag: string) => tag.replace(/^W\//, '')
  return (ifNoneMatch ?? '')
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || (one !== '' && strong(one) === strong(etag)))
}
