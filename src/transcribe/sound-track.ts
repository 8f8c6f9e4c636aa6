/**
 * The sound of media as mono of 16 kHz and 16 bits, which every recogniser takes, and parts of it.
 *
 * The rule: the media is as hostile here as when it came, and is opened the way that media/ opens it.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deadlineMs, type Extent, type Pace } from '../media/deadline.rules.ts'
import { inputArguments } from '../media/encode.rules.ts'
import { MAX_DURATION_SECONDS } from '../media/facts.rules.ts'
import type { Probe } from '../media/probe.ts'
import { MediaError } from '../media/rules.ts'
import { runTool } from '../media/tool.ts'
import { quietestMoment, SEARCHED_SECONDS } from './pieces.rules.ts'
import { ATTEMPTS, type Sound, TranscriberError } from './transcriber.ts'

const RATE = 16_000
const BYTES_A_SECOND = RATE * 2
const HEADER_BYTES = 44

/** What takes sound out of media. */
export interface SoundTools {
  readonly probe: Probe
  /** null: there is none. */
  readonly ffmpeg: string | null
}

/** A WAV file that this module has made. */
export interface SoundTrack {
  readonly path: string
  readonly durationSeconds: number
}

export interface Piece {
  readonly startSec: number
  readonly endSec: number
}

const QUIET = ['-nostdin', '-y', '-hide_banner', '-v', 'error'] as const
/** Four times as fast as it plays, once it has begun. */
const PACE: Pace = { startMs: 60_000, msASecond: 250, maxMs: 6 * 60 * 60_000 }
/** Without anything in the header that would move the samples. */
const PLAIN_WAV = [
  ...['-ac', '1', '-ar', `${RATE}`, '-c:a', 'pcm_s16le'],
  ...['-map_metadata', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact', '-f', 'wav'],
]

/** @returns null where there is nothing to hear. @throws TranscriberError where the media is why */
export async function extractSoundTrack(
  { probe, ffmpeg }: SoundTools,
  { path, folder }: Sound,
  signal: AbortSignal,
): Promise<SoundTrack | null> {
  const target = join(folder, 'track.wav')
  const hasSound = await orTranscriberError(async () => {
    const facts = await probe(path, signal)
    if (facts.audio === null) return false
    const part = ['-map', `0:${facts.audio.index}`, '-t', `${MAX_DURATION_SECONDS}`]
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

/** A part of the sound in a file of its own, compressed: about half a MiB a minute. @throws TranscriberError */
export function encodePiece(
  ffmpeg: string | null,
  track: SoundTrack,
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

async function runFfmpeg(
  ffmpeg: string | null,
  args: readonly string[],
  extent: Extent,
  signal: AbortSignal,
): Promise<void> {
  if (ffmpeg === null)
    throw new TranscriberError('there is no ffmpeg: install it, or set FFMPEG_PATH', ATTEMPTS.terminal)
  const limits = { signal, timeoutMs: deadlineMs(extent, PACE), maxOutputBytes: 1_024 }
  await runTool(ffmpeg, [...QUIET, ...args], limits)
}

/** What the tools of media say against a file is final. */
async function orTranscriberError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    const message = `the sound cannot be taken out of the media: ${error.message}`
    throw new TranscriberError(message, ATTEMPTS.terminal, { cause: error })
  }
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
