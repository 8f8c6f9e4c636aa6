/**
 * What a program or a server wrote, read as a transcript. It may be 32 MiB of anything, so a long one is read in a thread of its own
 * that can be ended, and no more comes back than a transcript can hold.
 */
import type { RequestWork, Work } from '../platform/concurrency/work.ts'
import { AppError } from '../platform/errors.ts'
import { MAX_TRANSCRIPT_CHARACTERS } from '../transcripts/model.ts'
import { parseOutput, type Segment } from './output.rules.ts'
import { ATTEMPTS, TranscriberError } from './transcriber.ts'

/** @returns null where it is no transcript. @throws TranscriberError where reading takes too long */
export type ReadOutput = (output: string) => Promise<readonly Segment[] | null>

/** A word each of a long day. A transcript holds fewer utterances, so short segments are joined later in any case. */
const MAX_SEGMENTS = 100_000
/** Twice what a transcript holds, so that it is still known when something is left out. */
const MAX_CHARACTERS = 2 * MAX_TRANSCRIPT_CHARACTERS

/** Of the most hostile JSON. */
const UNITS_PER_CHARACTER = 30

/** `parseOutput` as work. Blank segments are left out, and what is beyond the limits. */
export const readOutputWork: Work<string, readonly Segment[] | null> = {
  name: 'transcript-output',
  run(output, spend) {
    spend(output.length)
    const segments = parseOutput(output)
    return segments === null ? null : bounded(segments.filter(({ text }) => text.trim() !== ''))
  },
}

/** Words are kept before times: where there are too many segments, those of one speaker are joined. */
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
