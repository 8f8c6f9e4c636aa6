/**
 * Examines a media file with ffprobe.
 *
 * The file is untrusted. Its first bytes choose the one demuxer that may open it, so ffprobe never follows a playlist.
 * Only local files can be read, and only allowed decoders run. The header of a file says what it may be; how long it lasts and where
 * its sound has gaps is measured on its packets.
 */

import { open, stat } from 'node:fs/promises'
import { ProgramError } from '../../platform/lifecycle/program.ts'
import { CLOCK_ARGUMENTS, createClock, withClock } from './clock.rules.ts'
import { findContainer } from './container.ts'
import { deadlineMs, type Pace } from './deadline.rules.ts'
import {
  factsOf,
  MAX_PIXELS,
  type MediaFacts,
  PROBE_ARGUMENTS,
  PROBED_DECODERS,
  type ProbeReport,
} from './facts.rules.ts'
import type { MediaPrograms } from './programs.ts'
import { type Container, demuxerArguments, MediaError, SNIFFED_BYTES, WAV_OF_WRONG_LENGTH } from './rules.ts'
import { runTool } from './tool.ts'
import { isWavLengthRight } from './wav.ts'

/** @throws MediaError; the reason of the signal */
export type Probe = (path: string, signal: AbortSignal) => Promise<MediaFacts>

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 1024 * 1024
/** Reading the packets of a file: a disk reads 5 GiB in less. */
const PACE: Pace = { startMs: 60_000, msASecond: 50, maxMs: 30 * 60_000 }

export function createProbe({ ffprobe }: Pick<MediaPrograms, 'ffprobe'>): Probe {
  return async (path, signal) => {
    const container = await containerOf(path)
    if (container === null)
      throw new MediaError('unsupported_media_type', false, 'the file type is not accepted')
    if (ffprobe === null) throw new Error('ffprobe was not found: install FFmpeg, or set FFPROBE_PATH')
    const bounds = ['-codec_whitelist', PROBED_DECODERS, '-max_pixels', `${MAX_PIXELS}`]
    const common = ['-v', 'error', ...demuxerArguments(container), ...bounds]
    const output = await runTool(ffprobe, [...common, ...PROBE_ARGUMENTS, `file:${path}`], {
      signal,
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
    }).catch(asUnsupported)
    const facts = factsOf(container, JSON.parse(output) as ProbeReport)
    const clock = createClock(facts)
    const { size: bytes } = await stat(path)
    await runTool(ffprobe, [...common, ...CLOCK_ARGUMENTS, `file:${path}`], {
      signal,
      timeoutMs: deadlineMs({ durationSeconds: null, bytes }, PACE),
      maxOutputBytes: Number.MAX_SAFE_INTEGER,
      onOutput: (chunk) => clock.add(chunk),
    })
    return withClock(facts, clock.read(), bytes)
  }
}

async function containerOf(path: string): Promise<Container | null> {
  const file = await open(path, 'r')
  try {
    const read = async (offset: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, offset)
      return buffer.subarray(0, bytesRead)
    }
    const container = await findContainer(read)
    if (container?.name !== 'wav') return container
    const { size } = await file.stat()
    return (await isWavLengthRight(read, size)) ? container : WAV_OF_WRONG_LENGTH
  } finally {
    await file.close()
  }
}

/** ffprobe found a reference to another demuxer, or a stream without an allowed decoder. */
function asUnsupported(error: unknown): never {
  const { cause } = error as { readonly cause?: unknown }
  if (!(cause instanceof ProgramError) || !cause.errorOutput.includes('not on whitelist')) throw error
  throw new MediaError(
    'unsupported_media_type',
    false,
    'the file contains a codec or format that is not accepted',
  )
}
