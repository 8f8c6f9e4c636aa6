/**
 * A transcriber that uses an OpenAI-compatible `POST /v1/audio/transcriptions`.
 *
 * The server's answer is validated like any input. Neither audio nor answer appears in an error message or a log.
 */
import { join } from 'node:path'
import type { TranscribeConfig } from '../../kernel/config.ts'
import {
  type AudioTools,
  type AudioTrack,
  clipOf,
  encodePiece,
  extractAudioTrack,
  type Piece,
  piecesOf,
} from './audio-track.ts'
import { type PostOptions, postAudio } from './post.ts'
import { type Protocol, protocolOf, referencesOf, type SpeakerSample, shifted } from './protocol.rules.ts'
import type { ReadOutput } from './read-output.ts'
import type { Segment } from './segment.ts'
import {
  ATTEMPTS,
  type SourceMedia,
  type Transcriber,
  TranscriberError,
  type TranscriptionResult,
} from './transcriber.ts'

export type ServerOptions = Extract<TranscribeConfig, { readonly kind: 'server' }> & {
  readonly retry?: PostOptions['retry']
  /** Maximum seconds per request, for tests. */
  readonly pieceSeconds?: number
}

/** Smaller and shorter files are sent unchanged. The protocol permits 25 MB. */
const MAX_BYTES = 24 * 1024 * 1024
/** Other accepted types, with their file extensions in the protocol. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/webm': 'webm',
}

export function createServerTranscriber(
  options: ServerOptions,
  tools: AudioTools,
  readOutput: ReadOutput,
): Transcriber {
  const protocol = protocolOf(options.model)
  const pieceSeconds = options.pieceSeconds ?? protocol.pieceSeconds
  return {
    name: 'server',
    async transcribe(media, signal) {
      const context = { options, protocol, readOutput, signal }
      if (await canSendUnchanged(media, pieceSeconds)) return transcribeWhole(context, media)
      const track = await extractAudioTrack(tools, media, signal)
      if (track === null) return { segments: [], durationSeconds: media.durationSeconds }
      return transcribeInPieces(
        { ...context, ffmpeg: tools.ffmpeg, folder: media.folder },
        track,
        pieceSeconds,
      )
    },
  }
}

interface RequestContext {
  readonly options: ServerOptions
  readonly protocol: Protocol
  readonly readOutput: ReadOutput
  readonly signal: AbortSignal
}

async function canSendUnchanged(media: SourceMedia, pieceSeconds: number): Promise<boolean> {
  const { isAudio, contentType, durationSeconds, path } = media
  if (!isAudio || EXTENSIONS[contentType] === undefined) return false
  if (durationSeconds === null || durationSeconds > pieceSeconds) return false
  return Bun.file(path).size <= MAX_BYTES
}

async function transcribeWhole(context: RequestContext, media: SourceMedia): Promise<TranscriptionResult> {
  const { path, contentType, durationSeconds } = media
  const file = { path, name: `audio.${EXTENSIONS[contentType]}` }
  return { segments: await ask(context, file, []), durationSeconds }
}

interface InPieces extends RequestContext {
  readonly ffmpeg: string | null
  readonly folder: string
}

/**
 * Sends the pieces one after another. If the model labels speakers, each request carries reference clips of the
 * speakers so far.
 */
async function transcribeInPieces(
  context: InPieces,
  track: AudioTrack,
  pieceSeconds: number,
): Promise<TranscriptionResult> {
  const segments: Segment[] = []
  const known: SpeakerSample[] = []
  const path = join(context.folder, 'piece.m4a')
  for (const piece of await piecesOf(track, pieceSeconds)) {
    await encodePiece(context.ffmpeg, track, piece, path, context.signal)
    const file = { path, name: 'audio.m4a' }
    const answer = shifted(await ask(context, file, known), piece)
    segments.push(...answer)
    if (context.protocol.hasLabels) known.push(...(await newSpeakers(track, piece, answer, known)))
  }
  return { segments, durationSeconds: track.durationSeconds }
}

async function newSpeakers(
  track: AudioTrack,
  piece: Piece,
  answer: readonly Segment[],
  known: readonly SpeakerSample[],
): Promise<readonly SpeakerSample[]> {
  const found = referencesOf(
    answer,
    piece,
    known.map(({ name }) => name),
  )
  return Promise.all(
    found.map(async ({ name, ...clip }) => {
      const encoded = Buffer.from(await clipOf(track, clip)).toString('base64')
      return { name, url: `data:audio/wav;base64,${encoded}` }
    }),
  )
}

interface SentFile {
  readonly path: string
  /** The extension states the type. */
  readonly name: string
}

async function ask(
  { options, protocol, readOutput, signal }: RequestContext,
  { path, name }: SentFile,
  known: readonly SpeakerSample[],
): Promise<readonly Segment[]> {
  const form = () => {
    const data = new FormData()
    data.set('file', Bun.file(path), name)
    data.set('model', options.model)
    for (const [field, value] of protocol.fields) data.append(field, value)
    for (const speaker of known) data.append('known_speaker_names[]', speaker.name)
    for (const speaker of known) data.append('known_speaker_references[]', speaker.url)
    return data
  }
  const segments = await readOutput(await postAudio(options, form, signal))
  if (segments !== null) return segments
  throw new TranscriberError('the transcription server did not answer with a transcript', ATTEMPTS.program)
}
