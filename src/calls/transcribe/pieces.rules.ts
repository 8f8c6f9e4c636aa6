/** Cuts long audio into pieces at the quietest moment near the end of each piece, so that no word is cut. Pure. */

/** How far before its end a piece may be cut. */
export const SEARCHED_SECONDS = 30
/** Length of a pause between words. */
const PAUSE_SECONDS = 0.3

/** The middle of the quietest pause, as a sample index. Of equally quiet ones, the last. */
export function quietestMoment(samples: Int16Array, rate: number): number {
  const width = Math.max(1, Math.min(samples.length, Math.round(rate * PAUSE_SECONDS)))
  let loudness = 0
  let least = Number.POSITIVE_INFINITY
  let best = samples.length
  for (const [index, sample] of samples.entries()) {
    loudness += Math.abs(sample) - (index >= width ? Math.abs(samples[index - width] ?? 0) : 0)
    if (index < width - 1 || loudness > least) continue
    least = loudness
    best = index + 1 - Math.floor(width / 2)
  }
  return best
}
