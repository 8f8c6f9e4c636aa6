/**
 * Finds the FFmpeg programs.
 *
 * The order is: the settings, then the machine, then the installed dependencies. A program named in the settings is
 * used even if it is missing. The machine's programs come before those of the dependencies, because their decoders get
 * security updates; those of the dependencies are from 2018 and only serve to try the service. They are not part of the
 * single executable, and there is no ffprobe for Linux on ARM.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Config } from '../../kernel/config.ts'
import { runTool } from './tool.ts'

export interface MediaPrograms {
  /** Examines media; null: the service cannot ingest media. */
  readonly ffprobe: string | null
  /** Converts media; null: media is published unchanged, even if browsers cannot play it. */
  readonly ffmpeg: string | null
}

export function findPrograms({
  ffprobePath,
  ffmpegPath,
}: Pick<Config, 'ffprobePath' | 'ffmpegPath'>): MediaPrograms {
  return {
    ffprobe: ffprobePath ?? Bun.which('ffprobe') ?? packagedProbe(),
    ffmpeg: ffmpegPath ?? Bun.which('ffmpeg') ?? packagedEncoder(),
  }
}

/** Tells the operator which program is missing; null: none. */
export function missingPrograms({ ffprobe, ffmpeg }: MediaPrograms): string | null {
  if (!isProgram(ffprobe))
    return `${ffprobe ?? 'ffprobe'} was not found: the service cannot ingest media. ${ADVICE}`
  if (!isProgram(ffmpeg))
    return `${ffmpeg ?? 'ffmpeg'} was not found: media that browsers cannot play is published unchanged. ${ADVICE}`
  return null
}

const ADVICE = 'Install FFmpeg, or set FFPROBE_PATH and FFMPEG_PATH.'
const VERSION_TIMEOUT_MS = 10_000
const MAX_VERSION_BYTES = 64 * 1024

/** Versions of the programs; not ok if the service cannot ingest media. @throws Error if a program does not run */
export async function examinePrograms(
  programs: MediaPrograms,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const missing = missingPrograms(programs)
  if (missing !== null) return { ok: isProgram(programs.ffprobe), detail: missing }
  const found = [programs.ffprobe, programs.ffmpeg].filter((program) => program !== null)
  return { ok: true, detail: (await Promise.all(found.map(versionOf))).join(', ') }
}

/** For example `ffprobe 7.1 (/usr/bin/ffprobe)`. */
async function versionOf(program: string): Promise<string> {
  const output = await runTool(program, ['-version'], {
    signal: new AbortController().signal,
    timeoutMs: VERSION_TIMEOUT_MS,
    maxOutputBytes: MAX_VERSION_BYTES,
  })
  const [, name, version] = /^(\S+) version (\S+)/.exec(output) ?? []
  return name === undefined ? program : `${name} ${version} (${program})`
}

function isProgram(path: string | null): boolean {
  return path !== null && Bun.which(path) !== null
}

function packagedProbe(): string | null {
  return packaged('ffprobe-static', join('bin', process.platform, process.arch, 'ffprobe'))
}

function packagedEncoder(): string | null {
  return packaged(`@ffmpeg-installer/${process.platform}-${process.arch}`, 'ffmpeg')
}

/**
 * A program of an installed package; null if the package is not installed, as in a compiled executable, or has none for
 * this machine.
 */
function packaged(name: string, path: string): string | null {
  try {
    return Bun.which(join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path))
  } catch {
    return null
  }
}
