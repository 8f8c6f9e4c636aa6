/**
 * Tells whether the header of a WAV file states its length rightly: recorders that were killed left 0, the length of their last
 * checkpoint, or a guess. FFmpeg and browsers end where the header says.
 *
 * Sources: "Multimedia Programming Interface and Data Specifications 1.0" (RIFF); EBU Tech 3306 (RF64, where `ds64` has the size).
 */

/** Chunks before and behind the samples. Editors write up to a dozen. */
const MAX_CHUNKS = 64
const CHUNK_HEADER_BYTES = 8
const FIRST_CHUNK = 12
/** Size of the samples in `ds64`, behind the size of the file. */
const DS64_SAMPLES = CHUNK_HEADER_BYTES + 8
const FORMAT_BYTES_A_SECOND = CHUNK_HEADER_BYTES + 8
/** Less is padding, or a cut: nobody hears it. */
const TOLERATED_SECONDS = 0.5
/** Tags that programs append without a chunk around them: ID3v2, APEv2, ID3v1. */
const APPENDED = ['ID3', 'APETAGEX', 'TAG']

/**
 * Whether the samples end where the header says. What follows them must be chunks; everything else is more samples.
 * @param read the bytes at an offset, at least 64 unless the file ends
 * @param bytes size of the file
 */
export async function isWavLengthRight(
  read: (offset: number) => Promise<Uint8Array>,
  bytes: number,
): Promise<boolean> {
  let offset = FIRST_CHUNK
  let tolerated: number | null = null
  let longSize: number | null = null
  let isBehind = false
  for (let chunk = 0; chunk < MAX_CHUNKS && bytes - offset > (isBehind ? (tolerated ?? 0) : 0); chunk++) {
    const head = Buffer.from(await read(offset))
    const id = head.toString('latin1', 0, 4)
    if (isBehind && APPENDED.some((tag) => head.toString('latin1', 0, tag.length) === tag)) return true
    if (head.length < CHUNK_HEADER_BYTES) return true
    const size = head.readUInt32LE(4)
    if (id === 'ds64' && head.length >= DS64_SAMPLES + 8)
      longSize = Number(head.readBigUInt64LE(DS64_SAMPLES))
    if (id === 'fmt ' && head.length >= FORMAT_BYTES_A_SECOND + 4)
      tolerated = head.readUInt32LE(FORMAT_BYTES_A_SECOND) * TOLERATED_SECONDS
    if (id === 'data' && !isBehind) {
      // Without a format, FFmpeg refuses the file.
      if (tolerated === null) return true
      const samples = longSize ?? size
      const end = offset + CHUNK_HEADER_BYTES + samples
      if (end > bytes + tolerated || samples === 0) return false
      isBehind = true
      offset = end + (samples % 2)
      continue
    }
    offset += CHUNK_HEADER_BYTES + size + (size % 2)
    if (isBehind && (!PRINTED.test(id) || offset > bytes + 1)) return false
  }
  return true
}

const PRINTED = /^[\x20-\x7e]{4}$/
