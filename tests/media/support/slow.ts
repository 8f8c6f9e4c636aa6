/** An FFmpeg that takes its time to encode, and what of it is running. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A program that is FFmpeg, but encodes at so many seconds a second. @returns its path, in the folder */
export function slowFfmpeg(folder: string, rate = 1): string {
  const path = join(folder, `ffmpeg-${rate}`)
  const ffmpeg = Bun.which('ffmpeg')
  writeFileSync(
    path,
    `#!/bin/sh\ncase "$*" in *-progress*) exec ${ffmpeg} -readrate ${rate} "$@";; *) exec ${ffmpeg} "$@";; esac\n`,
  )
  chmodSync(path, 0o700)
  return path
}

/** Those that are encoding, and have this in their command line. */
export function running(text: string): readonly string[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'pid=,command='])
  return (
    stdout
      .toString()
      .split('\n')
      // Not the shells that watch over them, which have the command in theirs.
      .filter((line) => /^\s*\d+ \S*ffmpeg /.test(line) && line.includes(text) && line.includes('-progress'))
  )
}
