/** An FFmpeg that encodes slowly, and a list of its running processes. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** FFmpeg that encodes this many seconds of media per second. @returns its path in the folder */
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

/** Encoding processes with this text in their command line. */
export function running(text: string): readonly string[] {
  const { stdout } = Bun.spawnSync(['ps', '-axww', '-o', 'pid=,command='])
  return (
    stdout
      .toString()
      .split('\n')
      // Without the supervising shells, whose command lines contain the command, too.
      .filter((line) => /^\s*\d+ \S*ffmpeg /.test(line) && line.includes(text) && line.includes('-progress'))
  )
}
