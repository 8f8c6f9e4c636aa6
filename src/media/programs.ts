/**
 * Where the programs of FFmpeg are.
 *
 * The rule: what the settings name is used and nothing else; then what the machine has; then what came with the dependencies.
 * The machine's come first because their decoders are repaired with it: those of the dependencies are of 2018, and there for
 * those who just want to try the service. They are not inside the single executable, and there is no ffprobe for Linux on ARM.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { runTool } from './tool.ts'

export interface MediaPrograms {
  /** Examines media; null: nothing can be taken in. */
  readonly ffprobe: string | null
  /** Converts media; null: it is published as it came, whoever can play it. */
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

/** What is missing, for somebody who can install it; null: nothing is. */
export function missingPrograms({ ffprobe, ffmpeg }: MediaPrograms): string | null {
  if (!isProgram(ffprobe)) return `There is no ${ffprobe ?? 'ffprobe'}: no media can be taken in. ${ADVICE}`
  if (!isProgram(ffmpeg))
    return `There is no ${ffmpeg ?? 'ffmpeg'}: media that browsers do not play stays as it is. ${ADVICE}`
  return null
}

const ADVICE = 'Install FFmpeg, or set FFPROBE_PATH and FFMPEG_PATH.'
const VERSION_TIMEOUT_MS = 10_000
const MAX_VERSION_BYTES = 64 * 1024

/** Which they are; not ok where no media could be taken in. @throws Error where one does not run */
export async function examinePrograms(
  programs: MediaPrograms,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const missing = missingPrograms(programs)
  if (missing !== null) return { ok: isProgram(programs.ffprobe), detail: missing }
  const found = [programs.ffprobe, programs.ffmpeg].filter((program) => program !== null)
  return { ok: true, detail: (await Promise.all(found.map(versionOf))).join(', ') }
}

/** Such as `ffprobe 7.1 (/usr/bin/ffprobe)`. */
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

/** A program in a package; null where the package is not installed, as in a compiled executable, or has none for this machine. */
function packaged(name: string, path: string): string | null {
  try {
    return Bun.which(join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path))
  } catch {
    return null
  }
}
