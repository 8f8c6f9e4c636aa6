/**
 * The outline of a sound, for players to draw. Pure.
 *
 * The rule: memory and result are bounded whatever comes. Peaks are taken over pieces of equal length; when there are too many,
 * neighbours are joined, so nobody needs to know how long the sound is going to be.
 */

export const SAMPLE_RATE = 16_000
/** As many as a wide screen has pixels, before they are joined. */
const MAX_PEAKS = 4_096
/** 8 ms: shorter ones show no more. */
const SHORTEST_PIECE = 128

/** Version 2 of the format of audiowaveform (github.com/bbc/audiowaveform, doc/DataFormat.md), as JSON. */
export interface Waveform {
  readonly version: 2
  readonly channels: 1
  readonly sample_rate: number
  readonly samples_per_pixel: number
  readonly bits: 8
  /** Pairs in `data`. */
  readonly length: number
  /** Lowest and highest of each piece, from -128 to 127. */
  readonly data: readonly number[]
}

export interface Peaks {
  /** Takes a part of the sound: 16 bits, little-endian, mono. It may end within a sample. */
  add(bytes: Uint8Array): void
  /** Samples so far. */
  readonly samples: number
  /** What there is so far; null where there was no sample. */
  waveform(): Waveform | null
}

export function createPeaks(): Peaks {
  const lows = new Int16Array(MAX_PEAKS)
  const highs = new Int16Array(MAX_PEAKS)
  let length = 0
  let perPiece = SHORTEST_PIECE
  let inPiece = 0
  let samples = 0
  let half: number | null = null

  const join = () => {
    for (let index = 0; index < length / 2; index++) {
      lows[index] = Math.min(lows[index * 2] ?? 0, lows[index * 2 + 1] ?? 0)
      highs[index] = Math.max(highs[index * 2] ?? 0, highs[index * 2 + 1] ?? 0)
    }
    length /= 2
    perPiece *= 2
  }
  const take = (value: number) => {
    if (inPiece === 0) {
      if (length === MAX_PEAKS) join()
      lows[length] = value
      highs[length] = value
      length++
    } else {
      if (value < (lows[length - 1] ?? 0)) lows[length - 1] = value
      if (value > (highs[length - 1] ?? 0)) highs[length - 1] = value
    }
    inPiece = (inPiece + 1) % perPiece
    samples++
  }
  return {
    add(bytes) {
      let at = 0
      if (half !== null && bytes.length > 0) {
        take(signed(half, bytes[0] ?? 0))
        at = 1
        half = null
      }
      for (; at + 1 < bytes.length; at += 2) take(signed(bytes[at] ?? 0, bytes[at + 1] ?? 0))
      if (at < bytes.length) half = bytes[at] ?? 0
    },
    get samples() {
      return samples
    },
    waveform: () => (length === 0 ? null : waveformOf(lows, highs, length, perPiece)),
  }
}

function signed(low: number, high: number): number {
  return ((high << 24) >> 16) | low
}

function waveformOf(lows: Int16Array, highs: Int16Array, length: number, perPiece: number): Waveform {
  const data: number[] = []
  for (let index = 0; index < length; index++) data.push((lows[index] ?? 0) >> 8, (highs[index] ?? 0) >> 8)
  return {
    version: 2,
    channels: 1,
    sample_rate: SAMPLE_RATE,
    samples_per_pixel: perPiece,
    bits: 8,
    length,
    data,
  }
}
