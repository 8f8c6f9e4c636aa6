/**
 * Evaluates `Range` (RFC 9110, section 14) and `If-None-Match` (section 13). Pure.
 *
 * Only a single range is supported. Other units and several ranges get the whole representation, as the RFC permits. So
 * does a range of an older representation (`If-Range`).
 */

/** `end` is exclusive. */
export type Part = { readonly start: number; readonly end: number } | 'whole' | 'unsatisfiable'

const RANGE = /^bytes[ \t]*=[ \t]*(?:(\d+)[ \t]*)?-[ \t]*(?:(\d+)[ \t]*)?$/i

/** The part of `size` bytes with the strong `etag` that a GET with these headers requests. */
export function partOf(headers: Headers, size: number, etag: string): Part {
  const range = headers.get('range')
  const ifRange = headers.get('if-range')
  if (range === null || (ifRange !== null && ifRange.trim() !== etag)) return 'whole'
  const [, first = '', last = ''] = RANGE.exec(range) ?? []
  if (first === '' && last === '') return 'whole'
  if (first === '') {
    const start = Math.max(0, size - Number(last)) // a suffix range
    return start === size ? 'unsatisfiable' : { start, end: size }
  }
  const start = Number(first)
  if (start >= size) return 'unsatisfiable'
  if (last !== '' && Number(last) < start) return 'whole'
  return { start, end: last === '' ? size : Math.min(size, Number(last) + 1) }
}

/** Whether `If-None-Match` matches this tag by weak comparison (RFC 9110, section 13.1.2). */
export function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  const strong = (tag: string) => tag.replace(/^W\//, '')
  return (ifNoneMatch ?? '')
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || (one !== '' && strong(one) === strong(etag)))
}
