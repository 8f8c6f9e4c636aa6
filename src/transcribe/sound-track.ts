/**
 * The sound of media as mono of 16 kHz and 16 bits, which every recogniser takes, and parts of it.
 *
 * The rule: the media is hostile, as for the program that examines it (media/probe.ts): its first bytes choose the one reader
 * that may open it, nothing but local files can be read, and the program runs without our environment under limits.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { SNIFFED_BYTES, sniff } from '../media/rules.ts'
import { ProgramError, runProgram } from '../platform/program.ts'
import { quietestMoment, SEARCHED_SECONDS } from './pieces.rules.ts'
import { ATTEMPTS, type Sound, TranscriberError } from './transcriber.ts'

const RATE = 16_000
const BYTES_A_SECOND = RATE * 2
const HEADER_BYTES = 44

/** A WAV file that this module has made. */
export interface SoundTrack {
  readonly path: string
  readonly durationSeconds: number
}

export interface Piece {
  readonly startSec: number
  readonly endSec: number
}

const LIMITED = 'ulimit -v 4194304 2>/dev/null; exec "$0" "$@"'
/** Faster than four times the speed at which it plays, once it has begun. */
const patienceMs = (seconds: number | null) => 10 * 60_000 + (seconds ?? MAX_SECONDS / 4) * 250
/** A WAV file has no place for more than 37 hours, and a turn no time. */
const MAX_SECONDS = 24 * 3_600
const NO_STREAM = /matches no streams|does not contain any stream/

/** Where ffmpeg is; null: nowhere. */
export function findFfmpeg({ ffmpegPath }: Pick<Config, 'ffmpegPath'>): string | null {
  return ffmpegPath ?? Bun.which('ffmpeg')
}

/** @returns null where there is nothing to hear. @throws TranscriberError */
export async function extractSoundTrack(
  ffmpeg: string | null,
  { path, folder, durationSeconds }: Sound,
  signal: AbortSignal,
): Promise<SoundTrack | null> {
  if (durationSeconds !== null && durationSeconds > MAX_SECONDS)
    throw new TranscriberError('the media is longer than 24 hours', ATTEMPTS.terminal)
  const track = join(folder, 'track.wav')
  const container = await withFile(path, async (file) => sniff(await readAt(file, 0, SNIFFED_BYTES)))
  if (container === null) throw new TranscriberError('the media is of no known kind', ATTEMPTS.terminal)
  const input = ['-protocol_whitelist', 'file', '-format_whitelist', container.demuxers, '-i', `file:${path}`]
  const form = ['-map', '0:a:0?', '-vn', '-ac', '1', '-ar', `${RATE}`, '-t', `${MAX_SECONDS}`]
  // Without anything in the header that would move the samples.
  const plain = [
    '-c:a',
    'pcm_s16le',
    '-map_metadata',
    '-1',
    '-fflags',
    '+bitexact',
    '-flags:a',
    '+bitexact',
    '-f',
    'wav',
  ]
  try {
    await runFfmpeg(ffmpeg, [...input, ...form, ...plain, track], patienceMs(durationSeconds), signal)
  } catch (error) {
    if (error instanceof ProgramError && NO_STREAM.test(error.errorOutput)) return null
    throw asTranscriberError(error)
  }
  const bytes = await Bun.file(track).stat()
  return { path: track, durationSeconds: (bytes.size - HEADER_BYTES) / BYTES_A_SECOND }
}

/** A part of the sound in a file of its own, compressed: about half a MiB a minute. @throws TranscriberError */
export async function encodePiece(
  ffmpeg: string | null,
  track: SoundTrack,
  { startSec, endSec }: Piece,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const part = ['-ss', startSec.toFixed(3), '-t', (endSec - startSec).toFixed(3), '-i', `file:${track.path}`]
  const form = ['-map_metadata', '-1', '-c:a', 'aac', '-b:a', '64k', '-f', 'ipod']
  try {
    await runFfmpeg(ffmpeg, [...part, ...form, target], patienceMs(endSec - startSec), signal)
  } catch (error) {
    throw asTranscriberError(error)
  }
}

/** The sound in pieces of at most so many seconds, cut where it is quiet. */
export function piecesOf(track: SoundTrack, maxSeconds: number): Promise<readonly Piece[]> {
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

/** A part of the sound as a WAV file in memory. */
export function clipOf(track: SoundTrack, { startSec, endSec }: Piece): Promise<Uint8Array> {
  return withFile(track.path, async (file) => {
    const from = HEADER_BYTES + Math.floor(startSec * RATE) * 2
    const samples = await readAt(file, from, Math.floor((endSec - startSec) * RATE) * 2)
    const header = Buffer.from(await readAt(file, 0, HEADER_BYTES))
    header.writeUInt32LE(HEADER_BYTES - 8 + samples.byteLength, 4)
    header.writeUInt32LE(samples.byteLength, HEADER_BYTES - 4)
    return Buffer.concat([header, samples])
  })
}

function runFfmpeg(
  ffmpeg: string | null,
  options: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  if (ffmpeg === null)
    throw new TranscriberError('there is no ffmpeg: install it, or set FFMPEG_PATH', ATTEMPTS.terminal)
  const command = [
    '/bin/sh',
    '-c',
    LIMITED,
    ffmpeg,
    '-nostdin',
    '-y',
    '-hide_banner',
    '-v',
    'error',
    ...options,
  ]
  return runProgram(command, { environment: {}, signal, timeoutMs, maxOutputBytes: 1_024 })
}

function asTranscriberError(error: unknown): unknown {
  if (!(error instanceof ProgramError)) return error
  const message = `the sound could not be taken out of the media: ${error.message}; its last words: ${error.lastWords}`
  return new TranscriberError(message, ATTEMPTS.program, { cause: error })
}

async function readSamples(file: FileHandle, from: number, count: number): Promise<Int16Array> {
  const bytes = await readAt(file, HEADER_BYTES + from * 2, count * 2)
  return new Int16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 2))
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  // A buffer of its own: a part of a shared one may begin at an odd place.
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
