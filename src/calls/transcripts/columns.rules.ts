/**
 * A transcript as the parameters of the statement that stores it: one array literal of PostgreSQL for each column. Pure.
 *
 * To write the literals of a long transcript takes tens of milliseconds, so a work thread does it for a request. The HTTP thread passes
 * four texts on instead of ten thousand objects.
 */
import type { Utterance } from './model.ts'

/** Literals such as `{0,1.5}` or `{"Hello.","He said \"no\"."}`, with one element an utterance. */
export interface TranscriptColumns {
  readonly startSec: string
  readonly endSec: string
  readonly speaker: string
  readonly text: string
}

/** @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
export function columnsOf(utterances: readonly Utterance[]): TranscriptColumns {
  return {
    startSec: `{${utterances.map(({ startSec }) => startSec).join()}}`,
    endSec: `{${utterances.map(({ endSec }) => endSec).join()}}`,
    speaker: `{${utterances.map(({ speaker }) => speaker).join()}}`,
    text: `{${utterances.map(({ text }) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join()}}`,
  }
}
