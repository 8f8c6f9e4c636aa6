/**
 * Extracts the audio of media as 16-bit mono at 16 kHz, which every speech recogniser accepts, and cuts it.
 *
 * The media is still untrusted, and is opened the same way as in `media/`.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deadlineMs, type Extent, type Pace } from '../media/deadline.rules.ts'
import { inputArguments, soundArguments } from '../media/encode.rules.ts'
import { MAX_DURATION_SECONDS } from '../media/facts.rules.ts'
import type { Probe } from '../media/probe.ts'
import { MediaError } from '../media/rules.ts'
import { runTool } from '../media/tool.ts'
import { quietestMoment, SEARCHED_SECONDS } from './pieces.rules.ts'
import { ATTEMPTS, type SourceMedia, TranscriberError } from './transcriber.ts'

const RATE = 16_000
const BYTES_A_SECOND = RATE * 2
const HEADER_BYTES = 44

/** Programs that extract audio. */
export interface AudioTools {
  readonly probe: Probe
  /** null: ffmpeg is missing. */
  readonly ffmpeg: string | null
}

/** A WAV file created by this module. */
export interface AudioTrack {
  readonly path: string
  readonly durationSeconds: number
}

export interface Piece {
  readonly startSec: number
  readonly endSec: number
}

const QUIET = ['-nostdin', '-y', '-hide_banner', '-v', 'error'] as const
/** Four times playback speed, after a start. */
const PACE: Pace = { startMs: 60_000, msASecond: 250, maxMs: 6 * 60 * 60_000 }
/** A WAV header of fixed size, so that the position of the samples is known. */
const PLAIN_WAV = [
  ...['-ac', '1', '-c:a', 'pcm_s16le'],
  ...['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'wav'],
]

/** @returns null if the media has no audio. @throws TranscriberError if the media is the cause */
export async function extractAudioTrack(
  { probe, ffmpeg }: AudioTools,
  { path, folder }: SourceMedia,
  signal: AbortSignal,
): Promise<AudioTrack | null> {
  const target = join(folder, 'track.wav')
  const hasSound = await orTranscriberError(async () => {
    const facts = await probe(path, signal)
    if (facts.audio === null) return false
    const part = [...soundArguments(facts, RATE), '-t', `${MAX_DURATION_SECONDS}`]
    const output = [...part, ...PLAIN_WAV, `file:${target}`]
    const { size: bytes } = await stat(path)
    const extent = { durationSeconds: facts.durationSeconds, bytes }
    await runFfmpeg(ffmpeg, [...inputArguments(facts, path), ...output], extent, signal)
    return true
  })
  if (!hasSound) return null
  const { size } = await stat(target)
  return { path: target, durationSeconds: (size - HEADER_BYTES) / BYTES_A_SECOND }
}

/** Writes a part of the audio to a compressed file of about half a MiB a minute. @throws TranscriberError */
export function encodePiece(
  ffmpeg: string | null,
  track: AudioTrack,
  { startSec, endSec }: Piece,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const seconds = endSec - startSec
  const extent = { durationSeconds: seconds, bytes: Math.ceil(seconds * BYTES_A_SECOND) }
  const input = ['-ss', startSec.toFixed(3), '-t', seconds.toFixed(3), '-i', `file:${track.path}`]
  const output = ['-map_metadata', '-1', '-c:a', 'aac', '-b:a', '64k', '-f', 'ipod', `file:${target}`]
  return orTranscriberError(() => runFfmpeg(ffmpeg, [...input, ...output], extent, signal))
}

/** Cuts the audio into pieces of at most `maxSeconds`, at quiet moments. */
export function piecesOf(track: AudioTrack, maxSeconds: number): Promise<readonly Piece[]> {
  return withFile(track.path, async (file) => {
    const pieces: Piece[] = []
    let startSec = 0
    while (track.durationSeconds - startSec > maxSeconds) {
      const searched = Math.min(SEARCHED_SECONDS, maxSeconds / 2)
      const from = Math.floor((startSec + maxSeconds - searched) * RATE)
      const samples = await readSamples(file, from, Math.floor(searched * RATE))
      const endSec = (from + quietestMoment(samples, RATE)) / RATE
      pieces.push({ startSec, endSec })
      startSec = endSec
    }
    pieces.push({ startSec, endSec: track.durationSeconds })
    return pieces
  })
}

/** A part of the audio as a WAV file in memory. */
export function clipOf(track: AudioTrack, { startSec, endSec }: Piece): Promise<Uint8Array> {
  return withFile(track.path, async (file) => {
    const from = HEADER_BYTES + Math.floor(startSec * RATE) * 2
    const samples = await readAt(file, from, Math.floor((endSec - startSec) * RATE) * 2)
    const header = Buffer.from(await readAt(file, 0, HEADER_BYTES))
    header.writeUInt32LE(HEADER_BYTES - 8 + samples.byteLength, 4)
    header.writeUInt32LE(samples.byteLength, HEADER_BYTES - 4)
    return Buffer.concat([header, samples])
  })
}

async function runFfmpeg(
  ffmpeg: string | null,
  args: readonly string[],
  extent: Extent,
  signal: AbortSignal,
): Promise<void> {
  if (ffmpeg === null)
    throw new TranscriberError('ffmpeg was not found: install it, or set FFMPEG_PATH', ATTEMPTS.terminal)
  const limits = { signal, timeoutMs: deadlineMs(extent, PACE), maxOutputBytes: 1_024 }
  await runTool(ffmpeg, [...QUIET, ...args], limits)
}

/** An error of the media tools about the file is permanent. */
async function orTranscriberError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    const message = `the audio could not be extracted from the media: ${error.message}`
    throw new TranscriberError(message, ATTEMPTS.terminal, { cause: error }, 'audio_unreadable')
  }
}

async function readSamples(file: FileHandle, from: number, count: number): Promise<Int16Array> {
  const bytes = await readAt(file, HEADER_BYTES + from * 2, count * 2)
  return new Int16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 2))
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  // A separate buffer, because a slice of a shared buffer may start at an odd offset.
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'r')
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
