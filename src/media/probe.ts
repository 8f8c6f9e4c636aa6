/**
 * What is in a media file, found out by ffprobe.
 *
 * The rule: the file is hostile. Its first bytes choose the one reader that may open it, so that a list of other files is
 * never followed; only local files can be read at all; and no decoder sees it but those of the list.
 */

import { open } from 'node:fs/promises'
import { ProgramError } from '../platform/lifecycle/program.ts'
import {
  factsOf,
  MAX_PIXELS,
  type MediaFacts,
  PROBED_DECODERS,
  type ProbeReport,
  QUESTIONS,
} from './facts.rules.ts'
import type { MediaPrograms } from './programs.ts'
import { MediaError, SNIFFED_BYTES, sniff } from './rules.ts'
import { runTool } from './tool.ts'

/** @throws MediaError; the reason of the signal where it is aborted */
export type Probe = (path: string, signal: AbortSignal) => Promise<MediaFacts>

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 1024 * 1024

export function createProbe({ ffprobe }: Pick<MediaPrograms, 'ffprobe'>): Probe {
  return async (path, signal) => {
    const container = sniff(await readHead(path))
    if (container === null)
      throw new MediaError('unsupported_media_type', false, 'the bytes are of no accepted kind')
    if (ffprobe === null) throw new Error('there is no ffprobe: install FFmpeg, or set FFPROBE_PATH')
    const restrictions = ['-protocol_whitelist', 'file', '-format_whitelist', container.demuxers]
    const bounds = ['-codec_whitelist', PROBED_DECODERS, '-max_pixels', `${MAX_PIXELS}`]
    const output = await runTool(
      ffprobe,
      ['-v', 'error', ...restrictions, ...bounds, ...QUESTIONS, `file:${path}`],
      { signal, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES },
    ).catch(asUnsupported)
    return factsOf(container, JSON.parse(output) as ProbeReport)
  }
}

/** Where it found a file for another reader, or a stream that none of the decoders of the list is for. */
function asUnsupported(error: unknown): never {
  const { cause } = error as { readonly cause?: unknown }
  if (!(cause instanceof ProgramError) || !cause.errorOutput.includes('not on whitelist')) throw error
  throw new MediaError('unsupported_media_type', false, 'what is in it is not accepted')
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
