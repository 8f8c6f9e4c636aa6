/**
 * The waveform and the poster that players show before the media plays.
 *
 * Both are optional. If one cannot be made, it is null, and nothing else fails.
 */
import { rm, stat } from 'node:fs/promises'
import { deadlineMs, type Pace } from './deadline.rules.ts'
import {
  inputArguments,
  posterArguments,
  posterSeconds,
  posterSeekArguments,
  soundArguments,
} from './encode.rules.ts'
import { MAX_DURATION_SECONDS, type MediaFacts } from './facts.rules.ts'
import { MAX_WAVEFORM_MS } from './rules.ts'
import { runTool } from './tool.ts'
import { createPeaks, SAMPLE_RATE, type Waveform } from './waveform.rules.ts'

export interface Source {
  readonly path: string
  readonly facts: MediaFacts
}

const QUIET = ['-nostdin', '-hide_banner', '-v', 'error'] as const
const POSTER_TIMEOUT_MS = 60_000
/** Twenty times playback speed. */
const PACE: Pace = { startMs: 60_000, msASecond: 50, maxMs: MAX_WAVEFORM_MS }
const SAMPLE_BYTES = 2
const MAX_AUDIO_BYTES = MAX_DURATION_SECONDS * SAMPLE_RATE * SAMPLE_BYTES

export interface MeasuredWaveform {
  readonly waveform: Waveform
  /** Length of the decoded audio. */
  readonly durationSeconds: number
}

/** @returns null without audio that can be decoded. @throws the reason of the signal */
export function createWaveform(
  ffmpeg: string,
  source: Source,
  signal: AbortSignal,
): Promise<MeasuredWaveform | null> {
  const { audio, durationSeconds } = source.facts
  if (audio === null) return Promise.resolve(null)
  return orNone(signal, async () => {
    const { size: bytes } = await stat(source.path)
    const peaks = createPeaks()
    const form = [
      ...soundArguments(source.facts, SAMPLE_RATE),
      '-ac',
      '1',
      '-t',
      `${MAX_DURATION_SECONDS}`,
      '-f',
      's16le',
      'pipe:1',
    ]
    await runTool(ffmpeg, [...QUIET, ...inputArguments(source.facts, source.path), ...form], {
      signal,
      timeoutMs: deadlineMs({ durationSeconds, bytes }, PACE),
      maxOutputBytes: MAX_AUDIO_BYTES,
      onOutput: (chunk) => peaks.add(chunk),
    })
    const decodedSeconds = peaks.samples / SAMPLE_RATE
    // Sound may end before the picture; players draw the waveform over the whole length.
    if (peaks.samples > 0) peaks.fillTo(Math.floor((durationSeconds ?? 0) * SAMPLE_RATE))
    const waveform = peaks.waveform()
    return waveform === null ? null : { waveform, durationSeconds: decodedSeconds }
  })
}

/** Writes the file. @returns false without video that can be decoded. @throws the reason of the signal */
export async function makePoster(
  ffmpeg: string,
  source: Source,
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { video, durationSeconds } = source.facts
  if (video === null) return false
  // If the stated length is wrong, there may be no frame at that place.
  for (const seconds of new Set([posterSeconds(durationSeconds), 0])) {
    const made = await orNone(signal, async () => {
      const place = [...posterSeekArguments(seconds), ...inputArguments(source.facts, source.path)]
      await runTool(ffmpeg, [...QUIET, '-y', ...place, ...posterArguments(video.index), `file:${target}`], {
        signal,
        timeoutMs: POSTER_TIMEOUT_MS,
        maxOutputBytes: 1_024,
      })
      return (await stat(target)).size > 0
    })
    if (made === true) return true
  }
  await rm(target, { force: true })
  return false
}

/** @returns null if the work fails for any reason but the signal */
async function orNone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch {
    signal.throwIfAborted()
    return null
  }
}
