/** Real media in every common upload format, made by FFmpeg: from tens of kilobytes to more than one S3 part. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const FORMATS = ['mp4', 'mov', 'webm', 'mp3', 'wav', 'flac', 'ogg', 'aac'] as const
export type Format = (typeof FORMATS)[number]

const SECONDS = 8
const PICTURE = `testsrc2=size=320x240:rate=10:duration=${SECONDS}`
/** Noise, which no codec compresses much. */
const SOUND = `anoisesrc=duration=${SECONDS}:color=pink:seed=7:amplitude=0.5:sample_rate=44100`

const BOTH = ['-map', '0', '-map', '1']
const ALONE = ['-map', '1']

const OUTPUTS: Readonly<Record<Format, readonly string[]>> = {
  mp4: [...BOTH, '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'],
  mov: [...BOTH, '-c:v', 'mjpeg', '-c:a', 'pcm_s16le'],
  webm: [...BOTH, '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus'],
  mp3: [...ALONE, '-c:a', 'libmp3lame'],
  wav: [...ALONE, '-ac', '2', '-ar', '192000', '-c:a', 'pcm_s24le'],
  flac: [...ALONE, '-ar', '96000', '-c:a', 'flac'],
  ogg: [...ALONE, '-c:a', 'libvorbis'],
  aac: [...ALONE, '-c:a', 'aac'],
}

/** Creates them in the folder with one run of FFmpeg. @throws Error without FFmpeg */
export async function makeMedia(folder: string): Promise<Readonly<Record<Format, MediaFile>>> {
  const program = process.env.FFMPEG_PATH || Bun.which('ffmpeg')
  if (!program) throw new Error('no ffmpeg on the PATH: run the tests with "bun run check"')
  const inputs = ['-f', 'lavfi', '-i', PICTURE, '-f', 'lavfi', '-i', SOUND]
  const outputs = FORMATS.flatMap((format) => [...OUTPUTS[format], join(folder, `call.${format}`)])
  const child = Bun.spawn([program, '-hide_banner', '-loglevel', 'error', '-y', ...inputs, ...outputs], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
  const files = FORMATS.map((format) => {
    const path = join(folder, `call.${format}`)
    return [format, { path, bytes: readFileSync(path) }] as const
  })
  return Object.fromEntries(files) as Record<Format, MediaFile>
}

export interface MediaFile {
  readonly path: string
  readonly bytes: Buffer
}
