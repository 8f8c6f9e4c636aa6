/**
 * From a file to what is published of it: examined, made playable, with the outline of its sound and a picture.
 *
 * The rule: the file is only read. Whatever is made lies in the folder of the attempt, and is gone with it unless it was stored.
 */
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/observability/log.ts'
import { encode } from './encode.ts'
import type { MediaFacts } from './facts.rules.ts'
import { makePoster, outlineOf, type Source } from './outline.ts'
import { type Playback, playbackOf } from './playback.rules.ts'
import type { Probe } from './probe.ts'
import type { MediaPrograms } from './programs.ts'

export interface ProcessOptions {
  /** Which exists; its files may be stored under a second name. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly log: Log
  /** Encoding begins. A rejection of this or the next ends the work and is what comes of it. */
  readonly onEncode: () => Promise<void>
  /** 0 to 100, at most once a second. */
  readonly onProgress: (percent: number) => Promise<void>
}

export interface MadeFile {
  readonly path: string
  readonly contentType: string
}

export interface Processed {
  readonly source: MadeFile
  /** What is played instead of the source; null: the source is. */
  readonly playback: MadeFile | null
  readonly waveform: MadeFile | null
  readonly poster: MadeFile | null
  readonly isAudio: boolean
  readonly durationSeconds: number | null
  /** Of what is played, bytes. */
  readonly fileSize: number
}

/** @throws MediaError where the file is why; others where it is not; the reason of the signal */
export type Process = (path: string, options: ProcessOptions) => Promise<Processed>

export interface ProcessDeps {
  readonly probe: Probe
  readonly ffmpeg: MediaPrograms['ffmpeg']
  readonly clock: Clock
}

export function createProcess(deps: ProcessDeps): Process {
  let isTold = false
  return async (path, options) => {
    const facts = await deps.probe(path, options.signal)
    const source = { path, contentType: facts.contentType }
    if (deps.ffmpeg === null) {
      if (!isTold) options.log.warn('there is no ffmpeg: media is published as it came')
      isTold = true
      return { ...(await asItIs(facts, source)), waveform: null, poster: null }
    }
    const conversion = playbackOf(facts)
    if (conversion.kind === 'as_is')
      return { ...(await asItIs(facts, source)), ...(await decorate(deps.ffmpeg, { path, facts }, options)) }
    const playback = await convert(deps, deps.ffmpeg, { path, facts }, conversion, options)
    const { durationSeconds, ...extras } = await decorate(deps.ffmpeg, playback, options)
    return {
      source,
      playback: { path: playback.path, contentType: playback.facts.contentType },
      ...extras,
      isAudio: facts.isAudio,
      durationSeconds,
      fileSize: (await stat(playback.path)).size,
    }
  }
}

async function asItIs({ isAudio, durationSeconds }: MediaFacts, source: MadeFile) {
  const { size } = await stat(source.path)
  return { source, playback: null, isAudio, durationSeconds, fileSize: size }
}

async function convert(
  { probe, clock }: ProcessDeps,
  ffmpeg: string,
  source: Source,
  conversion: Extract<Playback, { readonly kind: 'convert' }>,
  { folder, signal, onEncode, onProgress }: ProcessOptions,
): Promise<Source> {
  const path = join(folder, 'playback')
  await onEncode()
  await encode(ffmpeg, source, conversion, path, { signal, onProgress, now: () => clock.now().getTime() })
  return { path, facts: await probe(path, signal) }
}

/** Out of what is played, which is the easier to decode. Its sound says how long it is where the file does not. */
async function decorate(ffmpeg: string, source: Source, { folder, signal }: ProcessOptions) {
  const outline = await outlineOf(ffmpeg, source, signal)
  const waveform = join(folder, 'waveform.json')
  if (outline !== null) await writeFile(waveform, JSON.stringify(outline.waveform))
  const poster = join(folder, 'poster.jpg')
  const hasPoster = await makePoster(ffmpeg, source, poster, signal)
  return {
    waveform: outline === null ? null : { path: waveform, contentType: 'application/json' },
    poster: hasPoster ? { path: poster, contentType: 'image/jpeg' } : null,
    durationSeconds: source.facts.durationSeconds ?? outline?.durationSeconds ?? null,
  }
}
