/** Monologues: consecutive utterances of one speaker (specification, "Transcript"). Pure. */
import type { Utterance } from './model.ts'

/**
 * Joins consecutive utterances of one speaker: the texts separated by a space, the first start, the largest end.
 * Utterances of different speakers may overlap, so the last end need not be the largest.
 */
export function toMonologues(utterances: readonly Utterance[]): readonly Utterance[] {
  const monologues: Utterance[] = []
  for (let first = 0, next = 0; first < utterances.length; first = next) {
    const { startSec, speaker } = utterances[first]!
    while (utterances[next]?.speaker === speaker) next++
    const run = utterances.slice(first, next)
    monologues.push({
      startSec,
      endSec: run.reduce((largest, { endSec }) => Math.max(largest, endSec), 0),
      speaker,
      text: run.map(({ text }) => text).join(' '),
    })
  }
  return monologues
}
