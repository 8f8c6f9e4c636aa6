/**
 * The waveform of audio, for players to draw. Pure.
 *
 * Memory and result are bounded. Peaks cover segments of equal length. When there are too many, neighbours are merged,
 * so the length need not be known in advance.
 */

export const SAMPLE_RATE = 16_000
/** As many as a wide screen has pixels. */
const MAX_PEAKS = 4_096
/** 8 ms; shorter segments show no more detail. */
const SHORTEST_SEGMENT = 128

/** Version 2 of the format of audiowaveform (github.com/bbc/audiowaveform, doc/DataFormat.md), as JSON. */
export interface Waveform {
  readonly version: 2
  readonly channels: 1
  readonly sample_rate: number
  readonly samples_per_pixel: number
  readonly bits: 8
  /** Number of pairs in `data`. */
  readonly length: number
  /** Minimum and maximum of each segment, from -128 to 127. */
  readonly data: readonly number[]
}

export interface Peaks {
  /** Adds audio: 16 bits, little-endian, mono. It may end within a sample. */
  add(bytes: Uint8Array): void
  /** Adds silence up to so many samples in all. Its cost does not depend on how many they are. */
  fillTo(count: number): void
  /** Samples added so far. */
  readonly samples: number
  /** The waveform so far; null without samples. */
  waveform(): Waveform | null
}

export function createPeaks(): Peaks {
  const lows = new Int16Array(MAX_PEAKS)
  const highs = new Int16Array(MAX_PEAKS)
  let length = 0
  let perSegment = SHORTEST_SEGMENT
  let inSegment = 0
  let samples = 0
  let half: number | null = null

  const join = () => {
    for (let index = 0; index < length / 2; index++) {
      lows[index] = Math.min(lows[index * 2] ?? 0, lows[index * 2 + 1] ?? 0)
      highs[index] = Math.max(highs[index * 2] ?? 0, highs[index * 2 + 1] ?? 0)
    }
    length /= 2
    perSegment *= 2
  }
  const take = (value: number) => {
    if (inSegment === 0) {
      if (length === MAX_PEAKS) join()
      lows[length] = value
      highs[length] = value
      length++
    } else {
      if (value < (lows[length - 1] ?? 0)) lows[length - 1] = value
      if (value > (highs[length - 1] ?? 0)) highs[length - 1] = value
    }
    inSegment = (inSegment + 1) % perSegment
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
    fillTo(count) {
      while (samples < count) {
        if (inSegment > 0 || length === 0 || count - samples < perSegment) take(0)
        else {
          if (length === MAX_PEAKS) join()
          if (count - samples < perSegment) continue
          lows[length] = 0
          highs[length] = 0
          length++
          samples += perSegment
        }
      }
    },
    get samples() {
      return samples
    },
    waveform: () => (length === 0 ? null : waveformOf(lows, highs, length, perSegment)),
  }
}

function signed(low: number, high: number): number {
  return ((high << 24) >> 16) | low
}

function waveformOf(lows: Int16Array, highs: Int16Array, length: number, perSegment: number): Waveform {
  const data: number[] = []
  for (let index = 0; index < length; index++) data.push((lows[index] ?? 0) >> 8, (highs[index] ?? 0) >> 8)
  return {
    version: 2,
    channels: 1,
    sample_rate: SAMPLE_RATE,
    samples_per_pixel: perSegment,
    bits: 8,
    length,
    data,
  }
}
