/**
 * What players show of media before it plays: the outline of its sound, and a picture.
 *
 * The rule: the media is good without them. Where one cannot be made there is none, and nothing else fails.
 */
import { rm, stat } from 'node:fs/promises'
import { deadlineMs, type Pace } from './deadline.rules.ts'
import { inputArguments, posterArguments, posterPlace, posterSeconds } from './encode.rules.ts'
import { MAX_DURATION_SECONDS, type MediaFacts } from './facts.rules.ts'
import { MAX_OUTLINE_MS } from './rules.ts'
import { runTool } from './tool.ts'
import { createPeaks, SAMPLE_RATE, type Waveform } from './waveform.rules.ts'

export interface Source {
  readonly path: string
  readonly facts: MediaFacts
}

const QUIET = ['-nostdin', '-hide_banner', '-v', 'error'] as const
const POSTER_TIMEOUT_MS = 60_000
/** Twenty times as fast as it plays. */
const PACE: Pace = { startMs: 60_000, msASecond: 50, maxMs: MAX_OUTLINE_MS }
const SAMPLE_BYTES = 2
const MAX_SOUND_BYTES = MAX_DURATION_SECONDS * SAMPLE_RATE * SAMPLE_BYTES

export interface Outline {
  readonly waveform: Waveform
  /** Of the sound that was heard. */
  readonly durationSeconds: number
}

/** @returns null where there is no sound, or none that can be decoded. @throws the reason of the signal */
export function outlineOf(ffmpeg: string, source: Source, signal: AbortSignal): Promise<Outline | null> {
  const { audio, durationSeconds } = source.facts
  if (audio === null) return Promise.resolve(null)
  return orNone(signal, async () => {
    const { size: bytes } = await stat(source.path)
    const peaks = createPeaks()
    const form = ['-map', `0:${audio.index}`, '-ac', '1', '-ar', `${SAMPLE_RATE}`, '-f', 's16le', 'pipe:1']
    await runTool(ffmpeg, [...QUIET, ...inputArguments(source.facts, source.path), ...form], {
      signal,
      timeoutMs: deadlineMs({ durationSeconds, bytes }, PACE),
      maxOutputBytes: MAX_SOUND_BYTES,
      onOutput: (chunk) => peaks.add(chunk),
    })
    const waveform = peaks.waveform()
    return waveform === null ? null : { waveform, durationSeconds: peaks.samples / SAMPLE_RATE }
  })
}

/** Makes the file. @returns false where there is no picture, or none that can be decoded. @throws the reason of the signal */
export async function makePoster(
  ffmpeg: string,
  source: Source,
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { video, durationSeconds } = source.facts
  if (video === null) return false
  // Where the length is a lie there is nothing at that place.
  for (const seconds of new Set([posterSeconds(durationSeconds), 0])) {
    const made = await orNone(signal, async () => {
      const place = [...posterPlace(seconds), ...inputArguments(source.facts, source.path)]
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

/** null where it fails, for whatever reason but the signal. */
async function orNone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch {
    signal.throwIfAborted()
    return null
  }
}
