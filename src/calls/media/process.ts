/**
 * Turns a media file into what is published: examines it, makes it playable, and adds a waveform and a poster.
 *
 * The source file is only read. All output lies in the folder of the attempt and is deleted with it unless it was
 * stored.
 */
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/observability/log.ts'
import { encode } from './encode.ts'
import type { MediaFacts } from './facts.rules.ts'
import { type Playback, playbackOf } from './playback.rules.ts'
import { createWaveform, makePoster, type Source } from './previews.ts'
import type { Probe } from './probe.ts'
import type { MediaPrograms } from './programs.ts'

interface ProcessOptions {
  /** An existing folder. Its files may be stored under a second name. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly log: Log
  /** Called when encoding begins. A rejection of this or `onProgress` aborts the work, which then rejects with it. */
  readonly onEncode: () => Promise<void>
  /** Percent, 0 to 100, at most once a second. */
  readonly onProgress: (percent: number) => Promise<void>
}

export interface MadeFile {
  readonly path: string
  readonly contentType: string
}

export interface Processed {
  readonly source: MadeFile
  /** The file to play instead of the source; null: the source itself. */
  readonly playback: MadeFile | null
  readonly waveform: MadeFile | null
  readonly poster: MadeFile | null
  readonly isAudio: boolean
  readonly durationSeconds: number | null
  /** Bytes of the file that is played. */
  readonly fileSize: number
}

/** @throws MediaError if the file is the cause; other errors if it is not; the reason of the signal */
export type Process = (path: string, options: ProcessOptions) => Promise<Processed>

export interface ProcessDeps {
  readonly probe: Probe
  readonly ffmpeg: MediaPrograms['ffmpeg']
  readonly clock: Clock
}

export function createProcess(deps: ProcessDeps): Process {
  let hasWarned = false
  return async (path, options) => {
    const facts = await deps.probe(path, options.signal)
    const source = { path, contentType: facts.contentType }
    if (deps.ffmpeg === null) {
      if (!hasWarned) options.log.warn('ffmpeg was not found: media is published unchanged')
      hasWarned = true
      return { ...(await unchanged(facts, source)), waveform: null, poster: null }
    }
    const conversion = playbackOf(facts)
    if (conversion.kind === 'as_is')
      return {
        ...(await unchanged(facts, source)),
        ...(await addPreviews(deps.ffmpeg, { path, facts }, options)),
      }
    const playback = await convert(deps, deps.ffmpeg, { path, facts }, conversion, options)
    const { durationSeconds, ...extras } = await addPreviews(deps.ffmpeg, playback, options)
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

async function unchanged({ isAudio, durationSeconds }: MediaFacts, source: MadeFile) {
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

/**
 * Reads the playable file, because it is easier to decode. The decoded audio tells the duration if the file does not.
 */
async function addPreviews(ffmpeg: string, source: Source, { folder, signal }: ProcessOptions) {
  const measured = await createWaveform(ffmpeg, source, signal)
  const waveform = join(folder, 'waveform.json')
  if (measured !== null) await writeFile(waveform, JSON.stringify(measured.waveform))
  const poster = join(folder, 'poster.jpg')
  const hasPoster = await makePoster(ffmpeg, source, poster, signal)
  return {
    waveform: measured === null ? null : { path: waveform, contentType: 'application/json' },
    poster: hasPoster ? { path: poster, contentType: 'image/jpeg' } : null,
    durationSeconds: source.facts.durationSeconds ?? measured?.durationSeconds ?? null,
  }
}
