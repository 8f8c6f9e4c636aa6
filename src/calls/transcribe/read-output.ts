/**
 * Parses the output of a transcription program or server. It may be 32 MiB of anything. Long output is therefore parsed
 * in a separate thread that can be ended, and the result is limited to what a transcript can hold.
 */
import type { RequestWork, Work } from '../../platform/concurrency/work.ts'
import { AppError } from '../../platform/errors.ts'
import { MAX_TRANSCRIPT_CHARACTERS } from '../transcripts/model.ts'
import { parseOutput } from './output.rules.ts'
import type { Segment } from './segment.ts'
import { ATTEMPTS, TranscriberError } from './transcriber.ts'

/** @returns null if the output is not a transcript. @throws TranscriberError if parsing takes too long */
export type ReadOutput = (output: string) => Promise<readonly Segment[] | null>

/**
 * One word per segment of a long day. A transcript holds fewer utterances, so short segments are joined later anyway.
 */
const MAX_SEGMENTS = 100_000
/** Twice the size of a transcript, so that dropped text is still detected. */
const MAX_CHARACTERS = 2 * MAX_TRANSCRIPT_CHARACTERS

/** Cost of the most hostile JSON. */
const UNITS_PER_CHARACTER = 30

/** `parseOutput` as work. Drops blank segments, and text beyond the limits. */
export const readOutputWork: Work<string, readonly Segment[] | null> = {
  name: 'transcript-output',
  run(output, spend) {
    spend(output.length)
    const segments = parseOutput(output)
    return segments === null ? null : bounded(segments.filter(({ text }) => text.trim() !== ''))
  },
}

/** Words matter more than times: if there are too many segments, those of one speaker are joined. */
function bounded(segments: readonly Segment[]): readonly Segment[] {
  const joined = Math.ceil(segments.length / MAX_SEGMENTS)
  const kept: Segment[] = []
  let room = MAX_CHARACTERS
  for (let first = 0; first < segments.length && kept.length < MAX_SEGMENTS && room > 0; ) {
    const { startSec, speaker } = segments[first]!
    let end = first + 1
    while (end < first + joined && segments[end]?.speaker === speaker) end++
    const text = segments
      .slice(first, end)
      .map((segment) => segment.text)
      .join(joined > 1 ? ' ' : '')
      .slice(0, room)
    room -= text.length
    kept.push({ startSec, endSec: segments[end - 1]!.endSec, speaker, text })
    first = end
  }
  return kept
}

export function createReadOutput(work: RequestWork): ReadOutput {
  return async (output) => {
    const { length } = output
    const load = { caller: 'transcripts', bytes: length, units: length * UNITS_PER_CHARACTER }
    try {
      return await work.run(readOutputWork, output, load)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      throw new TranscriberError('reading what was transcribed took too long', ATTEMPTS.program, {
        cause: error,
      })
    }
  }
}
