/** An FFmpeg that takes as long to encode as its input plays, and what of it is running. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A program that is FFmpeg, but encodes no faster than one could watch. @returns its path, in the folder */
export function slowFfmpeg(folder: string): string {
  const path = join(folder, 'ffmpeg-slow')
  const ffmpeg = Bun.which('ffmpeg')
  writeFileSync(
    path,
    `#!/bin/sh\ncase "$*" in *-progress*) exec ${ffmpeg} -re "$@";; *) exec ${ffmpeg} "$@";; esac\n`,
  )
  chmodSync(path, 0o700)
  return path
}

/** Those that are encoding, and have this in their command line. */
export function running(text: string): readonly string[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'pid=,command='])
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes(text) && line.includes('-progress'))
}
