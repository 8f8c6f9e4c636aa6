/** Finds the container of a file, also behind tags and padding. */
import { type Container, type Preamble, sniff, sniffBehind } from './rules.ts'

/** Tags and padding before one stream, and padding in bytes. Real files have one or two tags. */
const MAX_STEPS = 64
const MAX_PADDING = 64 * 1024

/**
 * Reads at the start and behind each tag and padding.
 * @param read the bytes at an offset: `SNIFFED_BYTES`, fewer at the end
 */
export async function findContainer(
  read: (offset: number) => Promise<Uint8Array>,
): Promise<Container | null> {
  let offset = 0
  let padding = 0
  let isTagged = false
  /** Demuxers and players pass one ID3 tag by themselves, and some of them nothing else. */
  let isPassed = true
  for (let step = 0; step < MAX_STEPS; step++) {
    const head = await read(offset)
    const found: Container | Preamble | null = offset === 0 ? sniff(head) : sniffBehind(head, isTagged)
    if (found === null) return null
    if (!('kind' in found)) return isPassed ? found : { ...found, skippedBytes: offset }
    isPassed = step === 0 && found.kind === 'id3'
    isTagged ||= found.kind !== 'padding'
    padding += found.kind === 'padding' ? found.bytes : 0
    if (padding > MAX_PADDING) return null
    offset += found.bytes
  }
  return null
}
