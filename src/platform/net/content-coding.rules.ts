/** Codings of request bodies and answers (RFC 9110, sections 8.4.1 and 12.5.3). Pure. */

/** In order of preference if the client has none: cheapest for the same size first. */
export const CODINGS = ['zstd', 'br', 'gzip'] as const

export type Coding = (typeof CODINGS)[number]

/** RFC 9110 section 8.4.1.3: `x-gzip` means `gzip`. */
const GZIP = new Set(['gzip', 'x-gzip'])

/** The coding of a request body. Null: none. `unknown`: one that this service does not support. */
export function codingOfBody(contentEncoding: string | null): 'gzip' | 'unknown' | null {
  const name = contentEncoding?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return null
  return GZIP.has(name) ? 'gzip' : 'unknown'
}

/** More layers come from mistakes of a server that compresses what is compressed already. */
const MAX_GZIP_LAYERS = 2

/**
 * How often an answer may be compressed with gzip, by its `Content-Encoding`. Every other name says nothing about the bytes: object stores
 * repeat what an upload sent (`aws-chunked`, `utf-8`, `binary`, `none`) over plain bytes.
 */
export function gzipLayers(contentEncoding: string | null): number {
  const names = contentEncoding?.toLowerCase().split(',') ?? []
  return Math.min(MAX_GZIP_LAYERS, names.filter((name) => GZIP.has(name.trim())).length)
}

/** The supported coding that the client prefers. Null if it accepts none, or prefers uncompressed responses. */
export function chooseCoding(acceptEncoding: string | null): Coding | null {
  if (acceptEncoding === null) return null
  const weights = parseWeights(acceptEncoding)
  const any = weights.get('*') ?? 0
  const plain = weights.get('identity') ?? 0
  let best: Coding | null = null
  let bestWeight = 0
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? any
    if (weight <= bestWeight || weight < plain) continue
    best = coding
    bestWeight = weight
  }
  return best
}

const MEMBER = /^([a-z0-9*!#$%&'+.^_`|~-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/

/** `gzip;q=0.5, br` → gzip 0.5, br 1. Invalid members are ignored; `x-gzip` counts as `gzip`. */
function parseWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const member of header.toLowerCase().split(',')) {
    const [, name, weight = '1'] = MEMBER.exec(member.trim()) ?? []
    if (name !== undefined) weights.set(GZIP.has(name) ? 'gzip' : name, Number(weight))
  }
  return weights
}
