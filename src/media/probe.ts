/**
 * Examines a media file with ffprobe.
 *
 * The file is untrusted. Its first bytes choose the one demuxer that may open it, so ffprobe never follows a playlist.
 * Only local files can be read, and only allowed decoders run.
 */

import { open } from 'node:fs/promises'
import { ProgramError } from '../platform/lifecycle/program.ts'
import {
  factsOf,
  MAX_PIXELS,
  type MediaFacts,
  PROBE_ARGUMENTS,
  PROBED_DECODERS,
  type ProbeReport,
} from './facts.rules.ts'
import type { MediaPrograms } from './programs.ts'
import { MediaError, SNIFFED_BYTES, sniff } from './rules.ts'
import { runTool } from './tool.ts'

/** @throws MediaError; the reason of the signal */
export type Probe = (path: string, signal: AbortSignal) => Promise<MediaFacts>

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 1024 * 1024

export function createProbe({ ffprobe }: Pick<MediaPrograms, 'ffprobe'>): Probe {
  return async (path, signal) => {
    const container = sniff(await readHead(path))
    if (container === null)
      throw new MediaError('unsupported_media_type', false, 'the file type is not accepted')
    if (ffprobe === null) throw new Error('ffprobe was not found: install FFmpeg, or set FFPROBE_PATH')
    const restrictions = ['-protocol_whitelist', 'file', '-format_whitelist', container.demuxers]
    const bounds = ['-codec_whitelist', PROBED_DECODERS, '-max_pixels', `${MAX_PIXELS}`]
    const output = await runTool(
      ffprobe,
      ['-v', 'error', ...restrictions, ...bounds, ...PROBE_ARGUMENTS, `file:${path}`],
      { signal, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES },
    ).catch(asUnsupported)
    return factsOf(container, JSON.parse(output) as ProbeReport)
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

async function readHead(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
