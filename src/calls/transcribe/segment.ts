/** Spoken text with times in seconds. null: the output does not state that value. */
export interface Segment {
  readonly startSec: number | null
  readonly endSec: number | null
  readonly speaker: string | null
  readonly text: string
}
