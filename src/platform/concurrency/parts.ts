/**
 * Bytes that arrived in parts, such as a large request body.
 *
 * To join parts is to allocate all bytes again. For 4 MB that takes the HTTP thread milliseconds, so the thread that needs the whole
 * does it.
 */
export type Parts = readonly Uint8Array[]

/** Bytes of all parts together. */
export function sizeOf(parts: Parts): number {
  let size = 0
  for (const { byteLength } of parts) size += byteLength
  return size
}

/** All bytes in one array. Allocates nothing if there is one part. */
export function join(parts: Parts): Uint8Array {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}

/** Buffers that can be transferred to another thread. A buffer with other bytes beside its part is not one: it is copied. */
export function transferable(parts: Parts): ArrayBuffer[] {
  return parts.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
  )
}
