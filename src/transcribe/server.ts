/**
 * The transcriber behind an OpenAI-compatible `POST /v1/audio/transcriptions`.
 *
 * The rule: the server decides what was said, nothing else: its answer is judged like any input, and neither the sound nor the
 * answer reaches an error message or a log.
 */
import { join } from 'node:path'
import type { TranscribeConfig } from '../config.ts'
import type { Segment } from './output.rules.ts'
import { type PostOptions, postSound } from './post.ts'
import { protocolOf, referencesOf, type SpeakerSample, shifted, type Wanted } from './protocol.rules.ts'
import type { ReadOutput } from './read-output.ts'
import {
  clipOf,
  encodePiece,
  extractSoundTrack,
  type Piece,
  piecesOf,
  type SoundTools,
  type SoundTrack,
} from './sound-track.ts'
import { ATTEMPTS, type Heard, type Sound, type Transcriber, TranscriberError } from './transcriber.ts'

export type ServerOptions = Extract<TranscribeConfig, { readonly kind: 'server' }> & {
  readonly patience?: PostOptions['patience']
  /** Seconds of one request, for tests. */
  readonly pieceSeconds?: number
}

/** What is smaller and shorter goes as it is. The protocol takes 25 MB. */
const MAX_BYTES = 24 * 1024 * 1024
/** What the protocol takes besides, by its name there. */
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
  tools: SoundTools,
  readOutput: ReadOutput,
): Transcriber {
  const wanted = protocolOf(options.model)
  const pieceSeconds = options.pieceSeconds ?? wanted.pieceSeconds
  return {
    name: 'server',
    async transcribe(sound, signal) {
      const asking = { options, wanted, readOutput, signal }
      if (await mayGoAsItIs(sound, pieceSeconds)) return askWhole(asking, sound)
      const track = await extractSoundTrack(tools, sound, signal)
      if (track === null) return { segments: [], durationSeconds: sound.durationSeconds }
      return askInPieces({ ...asking, ffmpeg: tools.ffmpeg, folder: sound.folder }, track, pieceSeconds)
    },
  }
}

interface Asking {
  readonly options: ServerOptions
  readonly wanted: Wanted
  readonly readOutput: ReadOutput
  readonly signal: AbortSignal
}

async function mayGoAsItIs(sound: Sound, pieceSeconds: number): Promise<boolean> {
  const { isAudio, contentType, durationSeconds, path } = sound
  if (!isAudio || EXTENSIONS[contentType] === undefined) return false
  if (durationSeconds === null || durationSeconds > pieceSeconds) return false
  return Bun.file(path).size <= MAX_BYTES
}

async function askWhole(asking: Asking, sound: Sound): Promise<Heard> {
  const { path, contentType, durationSeconds } = sound
  const file = { path, name: `audio.${EXTENSIONS[contentType]}` }
  return { segments: await ask(asking, file, []), durationSeconds }
}

interface InPieces extends Asking {
  readonly ffmpeg: string | null
  readonly folder: string
}

/** One after the other: a server that gives labels is told how those it has labelled before sound. */
async function askInPieces(asking: InPieces, track: SoundTrack, pieceSeconds: number): Promise<Heard> {
  const segments: Segment[] = []
  const known: SpeakerSample[] = []
  const path = join(asking.folder, 'piece.m4a')
  for (const piece of await piecesOf(track, pieceSeconds)) {
    await encodePiece(asking.ffmpeg, track, piece, path, asking.signal)
    const file = { path, name: 'audio.m4a' }
    const answer = shifted(await ask(asking, file, known), piece)
    segments.push(...answer)
    if (asking.wanted.hasLabels) known.push(...(await newSpeakers(track, piece, answer, known)))
  }
  return { segments, durationSeconds: track.durationSeconds }
}

async function newSpeakers(
  track: SoundTrack,
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
      const sound = Buffer.from(await clipOf(track, clip)).toString('base64')
      return { name, url: `data:audio/wav;base64,${sound}` }
    }),
  )
}

interface SentFile {
  readonly path: string
  /** Whose end says what it is. */
  readonly name: string
}

async function ask(
  { options, wanted, readOutput, signal }: Asking,
  { path, name }: SentFile,
  known: readonly SpeakerSample[],
): Promise<readonly Segment[]> {
  const form = () => {
    const data = new FormData()
    data.set('file', Bun.file(path), name)
    data.set('model', options.model)
    for (const [field, value] of wanted.fields) data.append(field, value)
    for (const speaker of known) data.append('known_speaker_names[]', speaker.name)
    for (const speaker of known) data.append('known_speaker_references[]', speaker.url)
    return data
  }
  const segments = await readOutput(await postSound(options, form, signal))
  if (segments !== null) return segments
  throw new TranscriberError(
    'the transcription server answered with something that is no transcript',
    ATTEMPTS.program,
  )
}
