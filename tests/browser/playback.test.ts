/** Published media plays in a real browser, right through and after a seek: its sound is where it belongs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProbe } from '../../src/calls/media/probe.ts'
import { createProcess } from '../../src/calls/media/process.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { media, picture } from '../media/support/ffmpeg.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'

setDefaultTimeout(300_000)

let folder: string
let browser: Chromium
let server: Bun.Server<undefined>
const published = new Map<string, { readonly path: string; readonly contentType: string }>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-playback-'))
  browser = await startChromium()
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const found = published.get(new URL(request.url).pathname)
      if (found === undefined)
        return new Response('<body></body>', { headers: { 'content-type': 'text/html' } })
      const file = Bun.file(found.path)
      const [, first, last] = /bytes=(\d+)-(\d*)/.exec(request.headers.get('range') ?? '') ?? []
      const headers = { 'content-type': found.contentType, 'accept-ranges': 'bytes' }
      if (first === undefined) return new Response(file, { headers })
      const [from, to] = [Number(first), last ? Number(last) : file.size - 1]
      return new Response(file.slice(from, to + 1), {
        status: 206,
        headers: { ...headers, 'content-range': `bytes ${from}-${to}/${file.size}` },
      })
    },
  })
})
afterAll(async () => {
  await server?.stop(true)
  await browser?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function publish(bytes: Uint8Array): Promise<string> {
  const name = `/${crypto.randomUUID()}`
  const place = mkdtempSync(join(folder, 'made-'))
  const path = join(place, 'source')
  writeFileSync(path, bytes)
  const programs = findPrograms({ ffprobePath: null, ffmpegPath: null })
  const process = createProcess({
    probe: createProbe(programs),
    ffmpeg: programs.ffmpeg,
    clock: { now: () => new Date() },
  })
  const nothing = { onEncode: async () => {}, onProgress: async () => {} }
  const { signal } = new AbortController()
  const made = await process(path, { folder: place, signal, log: createLog('silent', 'test'), ...nothing })
  published.set(name, made.playback ?? made.source)
  return name
}

interface Played {
  readonly seconds: number
  /** Times of the player at which there was sound. */
  readonly loud: readonly number[]
}

/** Runs in the page: plays `source` from `start` to its end, and listens. */
const PLAY = `async (source, start) => {
  const video = document.createElement('video')
  video.src = source
  const canPlay = await new Promise((resolve) => {
    video.onloadedmetadata = () => resolve(true)
    video.onerror = () => resolve(false)
  })
  if (!canPlay) return null
  const context = new AudioContext()
  const analyser = context.createAnalyser()
  context.createMediaElementSource(video).connect(analyser)
  analyser.connect(context.destination)
  video.currentTime = start
  await new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))
  await context.resume()
  await video.play()
  const samples = new Float32Array(analyser.fftSize)
  const loud = []
  const listening = setInterval(() => {
    analyser.getFloatTimeDomainData(samples)
    if (samples.some((sample) => Math.abs(sample) > 0.01)) loud.push(video.currentTime)
  }, 50)
  await new Promise((resolve) => video.addEventListener('ended', resolve, { once: true }))
  clearInterval(listening)
  return { seconds: video.duration, loud }
}`

/** Plays from a time to the end. @returns null if the browser has no decoder for it */
async function play(path: string, from: number): Promise<Played | null> {
  const page = await browser.context.newPage()
  try {
    await page.goto(`http://127.0.0.1:${server.port}/`)
    return await page.evaluate<Played | null>(`(${PLAY})(${JSON.stringify(path)}, ${from})`)
  } finally {
    await page.close()
  }
}

/** A browser with a little delay: what it plays is seen this much later. */
const SLACK = 0.4
const within = (times: readonly number[], spans: readonly (readonly [number, number])[]) =>
  times.filter((time) => !spans.some(([from, to]) => time >= from - SLACK && time <= to + SLACK))

const TONE = ['-f', 'lavfi', '-i', 'sine=duration=2'] as const
const GAP = "asetpts='PTS+gt(T,1)*2/TB'"

test('a film whose sound has a gap: sound at 0 to 1 s and 3 to 4 s, from the start and from the gap', async () => {
  const codecs = ['-c:v', 'libvpx', '-c:a', 'libopus', '-af', GAP] as const
  const path = await publish(media('webm', ...picture('64x64', 5), ...TONE, ...codecs))
  for (const from of [0.01, 2]) {
    const played = await play(path, from)
    // Chromium without licensed codecs plays no MP4.
    if (played === null) return
    expect(played.seconds).toBeWithin(4.8, 5.2)
    expect(played.loud.filter((time) => time > 2.6).length).toBeGreaterThan(5)
    expect(
      within(played.loud, [
        [0, 1],
        [3, 4],
      ]),
    ).toEqual([])
  }
})

test('a live recording has a finite length, and plays after a seek', async () => {
  const codecs = ['-c:v', 'libvpx', '-c:a', 'libopus', '-live', '1'] as const
  const path = await publish(
    media('webm', ...picture('64x64', 4), '-f', 'lavfi', '-i', 'sine=duration=4', ...codecs),
  )
  const played = await play(path, 2.5)
  expect(played?.seconds).toBeWithin(3.8, 4.2)
  expect(played?.loud.length).toBeGreaterThan(5)
  expect(Math.min(...(played?.loud ?? []))).toBeWithin(2.4, 3.4)
})
