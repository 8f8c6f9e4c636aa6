/** A recording of half an hour that the service has to encode, and its way through the service. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { send } from './upload-target.ts'

const MINUTES = 30
const POLL_MS = 1_000

/** A minute of 720p with two frames a second, as of slides, again and again: Matroska, which browsers do not play, with VP8 and Opus. @returns its path */
export function makeRecording(folder: string): string {
  const [minute, path] = [join(folder, 'minute.webm'), join(folder, 'talk.mkv')]
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=1280x720:rate=2']
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=300:sample_rate=48000']
  const codecs = [
    '-c:v',
    'libvpx',
    '-deadline',
    'realtime',
    '-cpu-used',
    '8',
    '-b:v',
    '1M',
    '-c:a',
    'libopus',
  ]
  run([...picture, ...sound, '-t', '60', ...codecs, minute])
  run(['-stream_loop', String(MINUTES - 1), '-i', minute, '-c', 'copy', path])
  return path
}

function run(words: readonly string[]): void {
  const { success } = Bun.spawnSync(['ffmpeg', '-nostdin', '-v', 'error', '-y', ...words])
  if (!success) throw new Error('install FFmpeg with libvpx and libopus to measure recordings')
}

/** Uploads the file. @returns the status of the asset in the end, or after `withinMs` */
export async function processRecording(
  baseUrl: string,
  apiKey: string,
  path: string,
  withinMs: number,
): Promise<string> {
  const call = async (method: string, place: string, body?: object) => {
    const response = await fetch(`${baseUrl}/v3/rest/recordings${place}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-service-api-key': apiKey },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${place} answers ${response.status}`)
    // biome-ignore lint/suspicious/noExplicitAny: the answers have several shapes
    return (await response.json()) as any
  }
  const { id } = await call('POST', '', {})
  const upload = await call('POST', `/${id}/uploads`, {
    fileName: 'talk.mkv',
    fileSize: statSync(path).size,
  })
  await send(path, { url: upload.uploadUrl, method: 'PUT', headers: {} })
  const deadline = performance.now() + withinMs
  for (;;) {
    const { asset } = await call('GET', `/${id}`)
    if (asset.status === 'completed' || asset.status === 'failed' || performance.now() > deadline)
      return asset.status
    await Bun.sleep(POLL_MS)
  }
}
