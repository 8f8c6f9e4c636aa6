/**
 * Converts media that browsers cannot play. The duration and the file size limit the time. Progress is reported at most
 * once a second.
 */
import { stat } from 'node:fs/promises'
import { deadlineMs, type Pace } from './deadline.rules.ts'
import { encodeArguments, inputArguments, progressOf } from './encode.rules.ts'
import type { MediaFacts } from './facts.rules.ts'
import type { Playback } from './playback.rules.ts'
import { MAX_ENCODE_MS } from './rules.ts'
import { runTool } from './tool.ts'

export interface EncodeOptions {
  readonly signal: AbortSignal
  /**
   * Ascending, 0 to 100; not called if the length is unknown. A rejection aborts the encoding, which then rejects with
   * it.
   */
  readonly onProgress: (percent: number) => Promise<void>
  /** Milliseconds from any fixed point in time. */
  readonly now: () => number
}

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const PROGRESS_MS = 1_000
/** A quarter of playback speed, after some time to start on a busy machine. */
const PACE: Pace = { startMs: 3 * 60_000, msASecond: 4_000, maxMs: MAX_ENCODE_MS }

/** @throws MediaError; what `onProgress` rejects with; the reason of the signal */
export async function encode(
  ffmpeg: string,
  source: { readonly path: string; readonly facts: MediaFacts },
  conversion: Extract<Playback, { readonly kind: 'convert' }>,
  target: string,
  { signal, onProgress, now }: EncodeOptions,
): Promise<void> {
  const { facts, path } = source
  const { size: bytes } = await stat(path)
  const decoder = new TextDecoder()
  let reportedAt = Number.NEGATIVE_INFINITY
  const onOutput = async (chunk: Uint8Array) => {
    const percent = progressOf(decoder.decode(chunk, { stream: true }), facts.durationSeconds)
    if (percent === null || now() - reportedAt < PROGRESS_MS) return
    reportedAt = now()
    await onProgress(percent)
  }
  await runTool(
    ffmpeg,
    [
      ...['-nostdin', '-hide_banner', '-v', 'error', '-progress', 'pipe:1', '-nostats'],
      ...inputArguments(facts, path),
      ...encodeArguments(facts, conversion),
      `file:${target}`,
    ],
    {
      signal,
      timeoutMs: deadlineMs({ durationSeconds: facts.durationSeconds, bytes }, PACE),
      maxOutputBytes: MAX_OUTPUT_BYTES,
      onOutput,
    },
  )
}
