/**
 * Where the programs of FFmpeg are.
 *
 * The rule: what the settings name is used and nothing else; then what the machine has; then what came with the dependencies.
 * The machine's comes first because its decoders are repaired with it: `ffprobe-static` is of 2018, and there for those who just
 * want to try the service. It has nothing for Linux on ARM, and is not inside the single executable.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'

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
    ffmpeg: ffmpegPath ?? Bun.which('ffmpeg'),
  }
}

/** What is missing, for somebody who can install it; null: nothing is. */
export function missingPrograms({ ffprobe, ffmpeg }: MediaPrograms): string | null {
  if (!isProgram(ffprobe)) return `no ${ffprobe ?? 'ffprobe'}: no media can be taken in. ${ADVICE}`
  if (!isProgram(ffmpeg))
    return `no ${ffmpeg ?? 'ffmpeg'}: media is kept as it comes, also what browsers cannot play. ${ADVICE}`
  return null
}

const ADVICE = 'Install FFmpeg, or set FFPROBE_PATH and FFMPEG_PATH'

function isProgram(path: string | null): boolean {
  return path !== null && Bun.which(path) !== null
}

function packagedProbe(): string | null {
  try {
    const manifest = createRequire(import.meta.url).resolve('ffprobe-static/package.json')
    return Bun.which(join(dirname(manifest), 'bin', process.platform, process.arch, 'ffprobe'))
  } catch {
    // Not installed, or in a compiled executable.
    return null
  }
}
