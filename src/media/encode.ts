/**
 * Media that browsers do not play becomes media that they do.
 *
 * The rule: it takes as long as it may for its length and its size, and says how far it is at most once a second.
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
  /** 0 to 100, rising; not called where the length is not known. A rejection ends the work and is what comes of it. */
  readonly onProgress: (percent: number) => Promise<void>
  /** Milliseconds, from whatever moment. */
  readonly now: () => number
}

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const PROGRESS_MS = 1_000
/** A quarter of the speed at which it plays, after a while to begin on a busy machine. */
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
  let saidAt = Number.NEGATIVE_INFINITY
  const onOutput = async (chunk: Uint8Array) => {
    const percent = progressOf(decoder.decode(chunk, { stream: true }), facts.durationSeconds)
    if (percent === null || now() - saidAt < PROGRESS_MS) return
    saidAt = now()
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
