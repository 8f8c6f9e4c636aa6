/**
 * What is in a media file, found out by ffprobe.
 *
 * The rule: the file is hostile. Its first bytes choose the one reader that may open it, so that a list of other files is
 * never followed; only local files can be read at all; and the program runs without our environment under limits of time,
 * memory and output, and dies with the turn.
 */

import { open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import {
  type Container,
  factsOf,
  MediaError,
  type MediaFacts,
  type ProbeReport,
  SNIFFED_BYTES,
  sniff,
} from './rules.ts'

/** @throws MediaError; the reason of the signal where it is aborted */
export type Probe = (path: string, signal: AbortSignal) => Promise<MediaFacts>

const TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 1024 * 1024
/** Seconds of processor time and KiB of address space; where a shell knows no such limit, the time-out has to do. */
const LIMITED = 'ulimit -t 60; ulimit -v 4194304 2>/dev/null; exec "$0" "$@"'

export function createProbe({ ffprobePath }: Pick<Config, 'ffprobePath'>): Probe {
  return async (path, signal) => {
    const container = sniff(await readHead(path))
    if (container === null)
      throw new MediaError('unsupported_media_type', false, 'the bytes are of no accepted kind')
    const program = ffprobePath ?? findProgram()
    if (program === null) throw new Error('there is no ffprobe: set FFPROBE_PATH')
    return factsOf(container, await run(program, container, path, signal))
  }
}

async function readHead(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** That of the package `ffprobe-static`, which has one for most platforms, else one on the path. */
function findProgram(): string | null {
  try {
    const manifest = createRequire(import.meta.url).resolve('ffprobe-static/package.json')
    const program = join(dirname(manifest), 'bin', process.platform, process.arch, 'ffprobe')
    if (Bun.which(program) !== null) return program
  } catch {
    // Not installed, or in a compiled executable.
  }
  return Bun.which('ffprobe')
}

async function run(
  program: string,
  { demuxers }: Container,
  path: string,
  signal: AbortSignal,
): Promise<ProbeReport> {
  signal.throwIfAborted()
  const restrictions = ['-protocol_whitelist', 'file', '-format_whitelist', demuxers]
  const questions = [
    '-show_entries',
    'format=duration:stream=codec_type,codec_name,duration:stream_disposition',
  ]
  const child = Bun.spawn(
    [
      '/bin/sh',
      '-c',
      LIMITED,
      program,
      '-v',
      'quiet',
      ...restrictions,
      ...questions,
      '-of',
      'json',
      `file:${path}`,
    ],
    { cwd: '/', env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' },
  )
  const kill = () => child.kill('SIGKILL')
  const timer = setTimeout(kill, TIMEOUT_MS)
  signal.addEventListener('abort', kill, { once: true })
  try {
    const output = await readAll(child.stdout)
    if (output === null) kill()
    const code = await child.exited
    signal.throwIfAborted()
    if (code !== 0 || output === null)
      throw new MediaError('processing_failed', false, 'the file cannot be read as what it begins like')
    return JSON.parse(output)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
    kill()
  }
}

/** null where there is more than is to be expected. */
async function readAll(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += chunk.byteLength
    if (bytes > MAX_OUTPUT_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
