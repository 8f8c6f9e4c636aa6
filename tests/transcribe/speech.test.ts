/** A spoken sentence from the request to the transcript: a real recogniser transcribes speech from espeak-ng. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { transcriptionActor } from '../../src/calls/transcribe/actor.ts'
import { QUICK } from '../support/actors.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { eventually } from '../support/eventually.ts'
import { localInternet } from '../support/media.ts'
import { createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'
import { makeMedia, speak } from '../support/speech.ts'

setDefaultTimeout(300_000)

const HOST = 'media.example.com'
const SENTENCE = 'hello world we are going to the market'

let server: TestServer
let client: Client
let dns: DnsServer
let runtime: Runtime
let folder: string
let origin: Bun.Server<undefined>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-speech-'))
  speak(join(folder, 'talk.wav'), SENTENCE)
  makeMedia('-i', join(folder, 'talk.wav'), join(folder, 'talk.ogg'))
  const picture = ['-f', 'lavfi', '-i', 'testsrc=s=64x64:d=4']
  makeMedia(...picture, '-i', join(folder, 'talk.wav'), '-pix_fmt', 'yuv420p', join(folder, 'talk.mp4'))
  dns = await startDns()
  dns.set(HOST, ['127.0.0.1'])
  origin = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => new Response(Bun.file(join(folder, new URL(request.url).pathname))),
  })
  const recogniser = new URL('../support/recognise.ts', import.meta.url).pathname
  server = await startTestServer({
    env: {
      PATH: process.env.PATH ?? '',
      TRANSCRIBE_COMMAND: `'${process.execPath}' '${recogniser}' {audio}`,
    },
  })
  client = server.as({ apiKey: (await server.createTenant()).apiKey })
  const actor = recordingActor(server.deps, { fetchPublic: localInternet(dns.address) })
  runtime = createRuntime(server.deps, [actor, transcriptionActor(server.deps)], QUICK)
  await runtime.start()
})
afterAll(async () => {
  await runtime?.stop(5_000)
  await server?.stop()
  dns?.stop()
  await origin?.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

/** Waits for the words, some of which the recogniser gets wrong. */
async function assertHeard(id: string): Promise<void> {
  await eventually(
    async () => (await client.get(`${RECORDINGS}/${id}`)).body.transcript.source === 'automatic',
    {
      deadlineMs: 100_000,
    },
  )
  const { body } = await client.get(`${RECORDINGS}/${id}/transcript`)
  expect(body.utterances).toHaveLength(1)
  const [{ text, startSec, endSec, speaker, recordingId }] = body.utterances
  const heard = SENTENCE.split(' ').filter((word) => text.split(' ').includes(word))
  expect(heard.length).toBeGreaterThanOrEqual(5)
  expect(heard).toContain('world')
  expect([speaker, recordingId, startSec < 1, endSec]).toEqual([0, id, true, expect.any(Number)])
  expect(endSec).toBeWithin(1.5, 4)
}

test.each(['talk.wav', 'talk.ogg', 'talk.mp4'])('a spoken sentence, by URL: %s', async (name) => {
  const assetUrl = `http://${HOST}:${origin.port}/${name}`
  const { id } = await createRecording(client, { assetUrl })
  await assertHeard(id)
})

test('a spoken sentence, uploaded', async () => {
  const bytes = readFileSync(join(folder, 'talk.wav'))
  const { id } = await createRecording(client)
  const upload = await client.post(`${RECORDINGS}/${id}/uploads`, {
    fileName: 'talk.wav',
    fileSize: bytes.byteLength,
  })
  expect(upload.status).toBe(201)
  const { pathname } = new URL(upload.body.uploadUrl)
  const answer = await fetch(`${server.baseUrl}${pathname}`, { method: 'PUT', body: bytes })
  expect(answer.ok).toBe(true)
  await assertHeard(id)
})
