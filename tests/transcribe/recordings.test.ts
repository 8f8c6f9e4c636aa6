/** From the media of a recording to its transcript: real workers, real HTTP, real ffmpeg, real programs. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transactionWithOutbox } from '../../src/actors/mailbox.ts'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { createProbe } from '../../src/calls/media/probe.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { transcriptionActor } from '../../src/calls/transcribe/actor.ts'
import { createCommandTranscriber } from '../../src/calls/transcribe/command.ts'
import { createReadOutput } from '../../src/calls/transcribe/read-output.ts'
import { createServerTranscriber } from '../../src/calls/transcribe/server.ts'
import { TRANSCRIBE_ATTEMPTS, transcribeHandlers } from '../../src/calls/transcribe/transcription.ts'
import { requestTranscription } from '../../src/calls/transcripts/requests.ts'
import type { TranscribeConfig } from '../../src/kernel/config.ts'
import { QUICK } from '../support/actors.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { eventually } from '../support/eventually.ts'
import { localInternet, wav } from '../support/media.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'
import { makeMedia, startSpeechServer } from '../support/speech.ts'

setDefaultTimeout(300_000)

const HOST = 'media.example.com'
const environment = { PATH: process.env.PATH ?? '' }

let server: TestServer
let client: Client
let organizationId: string
let dns: DnsServer
let folder: string
let silentFilm: Uint8Array
const runtimes: Runtime[] = []
const origins: Bun.Server<undefined>[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-transcribe-'))
  makeMedia('-f', 'lavfi', '-i', 'testsrc=d=2:s=64x64', '-pix_fmt', 'yuv420p', join(folder, 'silent.mp4'))
  silentFilm = readFileSync(join(folder, 'silent.mp4'))
  dns = await startDns()
  dns.set(HOST, ['127.0.0.1'])
  server = await startTestServer()
  const tenant = await server.createTenant()
  organizationId = tenant.organizationId
  client = server.as({ apiKey: tenant.apiKey })
})
afterAll(async () => {
  await stopWorkers()
  await server?.stop()
  dns?.stop()
  for (const origin of origins) await origin.stop(true)
  rmSync(folder, { recursive: true, force: true })
})

async function stopWorkers() {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.stop(5_000)))
}

function soundTools() {
  const programs = findPrograms(server.deps.config)
  return { probe: createProbe(programs), ffmpeg: programs.ffmpeg }
}

const readOutput = () => createReadOutput(server.deps.requestWork)

/** Replaces the worker by one with this transcriber. */
async function transcribeBy(
  transcribe: TranscribeConfig | null,
  timeLimitMs?: () => number,
  options: Partial<RuntimeOptions> = {},
) {
  await stopWorkers()
  const config = { ...server.deps.config, transcribe }
  const transcriber =
    timeLimitMs !== undefined && transcribe?.kind === 'command'
      ? createCommandTranscriber({ ...transcribe, timeLimitMs }, soundTools(), readOutput())
      : undefined
  const deps = { ...server.deps, config }
  const actors = [
    recordingActor(deps, { fetchPublic: localInternet(dns.address) }),
    transcriptionActor(deps, transcriber),
  ]
  const runtime = createRuntime(server.deps, actors, { ...QUICK, ...options })
  runtimes.push(runtime)
  await runtime.start()
}

/** A shell script that gets the audio as `$1` and counts its runs in the file `runs`. */
function script(lines: string): TranscribeConfig & { readonly runs: () => number } {
  const name = join(folder, crypto.randomUUID())
  writeFileSync(name, `echo run >> ${name}.runs\n${lines}\n`)
  return {
    kind: 'command',
    command: ['sh', name],
    environment,
    runs: () =>
      existsSync(`${name}.runs`) ? readFileSync(`${name}.runs`, 'utf8').split('\n').length - 1 : 0,
  }
}

const SAID = JSON.stringify({
  segments: [
    { start: 0, end: 1.25, text: ' The export of the invoices failed.', speaker: 'B' },
    { start: 1.25, end: 2.5, text: ' Since Monday?', speaker: 'A' },
    { start: 2.5, end: 9, text: ' Yes.', speaker: 'B' },
  ],
})
const UTTERANCES = [
  utterance(0, 1.25, 0, 'The export of the invoices failed.'),
  utterance(1.25, 2.5, 1, 'Since Monday?'),
  // Not after the end of the audio.
  utterance(2.5, 3, 0, 'Yes.'),
]

function mediaUrl(bytes: Uint8Array = wav(3)): string {
  const origin = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(Buffer.from(bytes)) })
  origins.push(origin)
  return `http://${HOST}:${origin.port}/talk`
}

const create = async (more: object = {}, bytes?: Uint8Array): Promise<string> =>
  (await createRecording(client, { assetUrl: mediaUrl(bytes), ...more })).id
const recordingOf = async (id: string) => (await client.get(`${RECORDINGS}/${id}`)).body
const utterancesOf = async (id: string) =>
  (await client.get(`${RECORDINGS}/${id}/transcript`)).body.utterances.map(
    ({ recordingId, ...rest }: { recordingId: string }) => {
      expect(recordingId).toBe(id)
      return rest
    },
  )

/** Waits for one of the states and for the media. */
const reached = (id: string, ...states: readonly string[]) =>
  eventually(async () => {
    const recording = await recordingOf(id)
    return recording.asset.status === 'completed' && states.includes(recording.transcript.status) && recording
  })

/** No work is left for the recording, and nothing was dead-lettered. */
const idle = (id: string) =>
  eventually(async () => {
    const { sql } = server.database
    const keys = [`recording:${id}`, `transcription:${id}`]
    expect(await sql`select 1 from actor_dead_letter where key = any(${keys})`).toHaveLength(0)
    return (await sql`select 1 from actor_message where key = any(${keys})`).length === 0
  })

/** Runs the command of an operator. */
async function queue(id: string) {
  const queued = await transactionWithOutbox(server.deps, (tx, { send }) =>
    requestTranscription(tx, send, { organizationId, recordingId: id }, 'waiting'),
  )
  expect(queued).toBe(true)
}

const scratchFolders = () => {
  const parent = join(server.deps.config.dataDir, 'tmp')
  return existsSync(parent) ? readdirSync(parent) : []
}

describe('media without a transcript', () => {
  test('is transcribed: status, source, speakers, search and summary', async () => {
    const go = join(folder, 'go')
    const command = script(`while [ ! -e ${go} ]; do sleep 0.05; done; echo '${SAID}'`)
    await transcribeBy(command)
    const id = await create()
    expect((await reached(id, 'processing')).transcript.source).toBeNull()
    expect(await utterancesOf(id)).toEqual([])
    writeFileSync(go, '')
    expect((await reached(id, 'completed')).transcript).toEqual({ status: 'completed', source: 'automatic' })
    expect(await utterancesOf(id)).toEqual(UTTERANCES)
    await idle(id)
    expect((await recordingOf(id)).summary).toContain('invoices')
    const found = await client.get(`${RECORDINGS}?q=invoices`)
    expect(found.body.data.map((row: { id: string }) => row.id)).toContain(id)
    expect([command.runs(), scratchFolders()]).toEqual([1, []])
  })

  test('is passed to the command as WAV, mono, 16 kHz, in place of {audio}', async () => {
    const look = `dd if="$2" bs=1 skip=22 count=6 2>/dev/null | od -An -v -tu2; echo "$1 $3"`
    const name = join(folder, 'look.sh')
    writeFileSync(name, look)
    await transcribeBy({
      kind: 'command',
      command: ['sh', name, '--file', '{audio}', 'last'],
      environment,
    })
    const [heard] = await utterancesOf((await reached(await create(), 'completed')).id)
    // One channel, and 16,000 in two halves.
    expect(heard.text).toBe('1 16000 0 --file last')
  })

  test('has a completed transcript without utterances if there is no audio', async () => {
    const command = script(`echo '${SAID}'`)
    await transcribeBy(command)
    const id = await create({}, silentFilm)
    expect((await reached(id, 'completed')).transcript.source).toBe('automatic')
    await idle(id)
    expect([await utterancesOf(id), command.runs()]).toEqual([[], 0])
  })

  test('waits for a transcriber if none is configured', async () => {
    await transcribeBy(null)
    const id = await create()
    const { transcript } = await reached(id, 'waiting')
    await idle(id)
    expect(transcript).toEqual({ status: 'waiting', source: null, waitingFor: 'transcriber' })
  })

  test('waits again if the transcriber was removed', async () => {
    await transcribeBy(null)
    const id = await create()
    await reached(id, 'waiting')
    await stopWorkers()
    await queue(id)
    await transcribeBy(null)
    await idle(id)
    expect((await recordingOf(id)).transcript.status).toBe('waiting')
  })
})

describe('a supplied transcript', () => {
  test('is authoritative: nothing is transcribed', async () => {
    const command = script(`echo '${SAID}'`)
    await transcribeBy(command)
    const supplied = [utterance(0, 1, 0, 'Supplied.')]
    const id = await create({ transcript: supplied })
    expect((await reached(id, 'completed')).transcript.source).toBe('api')
    await idle(id)
    expect([await utterancesOf(id), command.runs()]).toEqual([supplied, 0])
  })

  test('is not overwritten by a transcription in progress', async () => {
    const go = join(folder, 'late')
    await transcribeBy(script(`while [ ! -e ${go} ]; do sleep 0.05; done; echo '${SAID}'`))
    const id = await create()
    await reached(id, 'processing')
    const { sql } = server.database
    await sql`
      update recording set transcript_status = 'completed', transcript_source = 'api' where id = ${id}`
    writeFileSync(go, '')
    await idle(id)
    expect((await recordingOf(id)).transcript).toEqual({ status: 'completed', source: 'api' })
    expect(await utterancesOf(id)).toEqual([])
  })
})

describe('a command that fails', () => {
  test.each([
    ['exits with an error', 'echo "no such model" >&2; exit 3'],
    ['writes JSON that is no transcript', `echo '{"error": true}'`],
    ['prints without end', 'yes {'],
    ['is not there', 'exec /nowhere/at/all'],
    ['hangs', 'sleep 1000 & sleep 1000'],
  ])('(%s) is tried three times, then the transcript is failed, without a dead letter', async (_, lines) => {
    const command = script(lines)
    await transcribeBy(command, () => 300)
    const id = await create()
    expect((await reached(id, 'failed')).transcript).toEqual({
      status: 'failed',
      source: null,
      errorCode: 'transcriber_failed',
    })
    await idle(id)
    expect([command.runs(), scratchFolders(), await utterancesOf(id)]).toEqual([3, [], []])
  })

  test('once is retried', async () => {
    const once = join(folder, 'once')
    const command = script(`if [ ! -e ${once} ]; then touch ${once}; exit 1; fi; echo '${SAID}'`)
    await transcribeBy(command)
    const id = await create()
    await reached(id, 'completed')
    expect([command.runs(), await utterancesOf(id)]).toEqual([2, UTTERANCES])
  })

  test('keeps its attempts while the service is killed', async () => {
    await transcribeBy(null)
    const id = await create()
    await reached(id, 'waiting')
    await stopWorkers()
    await queue(id)
    const { sql } = server.database
    // As three kills during the transcription leave it.
    await sql`
      update actor_message set attempts = 3, deaths = 3 where key = ${`transcription:${id}`}`
    const again = join(folder, crypto.randomUUID())
    await transcribeBy(script(`if [ -e ${again} ]; then echo '${SAID}'; else touch ${again}; exit 1; fi`))
    await idle(id)
    expect((await recordingOf(id)).transcript.status).toBe('completed')
  })

  test('and uses up its attempts without an error fails the transcript, too', async () => {
    await transcribeBy(null)
    const id = await create()
    await reached(id, 'waiting')
    await stopWorkers()
    await queue(id)
    const { sql } = server.database
    await sql`
      update actor_message set attempts = ${TRANSCRIBE_ATTEMPTS} where key = ${`transcription:${id}`}`
    await transcribeBy(script(`echo '${SAID}'`))
    await idle(id)
    expect((await recordingOf(id)).transcript.status).toBe('failed')
  })
})

test('an attempt of any kind that takes too long is ended, three times', async () => {
  await transcribeBy(null)
  const id = await create()
  await reached(id, 'waiting')
  await stopWorkers()
  await queue(id)
  using speech = startSpeechServer(() => new Promise<Response>(() => {}))
  const transcriber = createServerTranscriber(
    { kind: 'server', url: speech.url, model: 'whisper-1', apiKey: null },
    soundTools(),
    readOutput(),
  )
  const handlers = transcribeHandlers({ ...server.deps, transcriber, budgetMs: 300 })
  const actor = { kind: 'transcription', pool: 'media', maxAttempts: 8, handlers } as const
  const runtime = createRuntime(server.deps, [actor], QUICK)
  runtimes.push(runtime)
  await runtime.start()
  await reached(id, 'failed')
  expect([speech.requests.length, scratchFolders()]).toEqual([3, []])
})

describe('a server', () => {
  test('that is busy is retried, queued meanwhile; one that rejects the audio is not', async () => {
    let free = false
    using speech = startSpeechServer(() => (free ? new Response(SAID) : new Response('', { status: 401 })))
    const settings = { kind: 'server', url: speech.url, model: 'whisper-1', apiKey: null } as const
    await transcribeBy(settings)
    const id = await create()
    await reached(id, 'queued')
    await eventually(() => speech.requests.length >= 4)
    free = true
    await reached(id, 'completed')
    expect(await utterancesOf(id)).toEqual(UTTERANCES)

    using strict = startSpeechServer(() => new Response('', { status: 400 }))
    await transcribeBy({ ...settings, url: strict.url })
    const refused = await create()
    expect((await reached(refused, 'failed')).transcript.errorCode).toBe('transcriber_refused')
    const { body: list } = await client.get('/v3/rest/recordings?transcript_status=failed')
    const item = list.data.find((one: { readonly id: string }) => one.id === refused)
    expect(item.transcript_error_code).toBe('transcriber_refused')
    expect(strict.requests).toHaveLength(1)
  })
})

describe('other media', () => {
  async function replaceBy(id: string, bytes: Uint8Array<ArrayBuffer>) {
    const about = { fileName: 'better.wav', fileSize: bytes.byteLength }
    const { body } = await client.post(`${RECORDINGS}/${id}/uploads`, about)
    expect((await fetch(body.uploadUrl, { method: 'PUT', body: bytes })).ok).toBe(true)
    await eventually(async () => (await recordingOf(id)).asset.durationSeconds === 2)
  }

  test('is processed at once while a transcription waits for hours for its next attempt', async () => {
    using speech = startSpeechServer(() => new Response('', { status: 401 }))
    const settings = { kind: 'server', url: speech.url, model: 'whisper-1', apiKey: null } as const
    await transcribeBy(settings, undefined, { retryBaseMs: 3_600_000, retryCapMs: 3_600_000 })
    const id = await create()
    await eventually(() => speech.requests.length > 0)
    await reached(id, 'queued')
    await replaceBy(id, wav(2))
    expect((await recordingOf(id)).transcript.status).toBe('queued')
  })

  test('that cannot be fetched does not hold up what follows the transcript', async () => {
    const gate = Promise.withResolvers<void>()
    using speech = startSpeechServer(async () => {
      await gate.promise
      return new Response(SAID)
    })
    const settings = { kind: 'server', url: speech.url, model: 'whisper-1', apiKey: null } as const
    await transcribeBy(settings, undefined, { retryBaseMs: 3_600_000, retryCapMs: 3_600_000 })
    const id = await create()
    await eventually(() => speech.requests.length === 1)
    // Nobody listens on port 1.
    expect((await client.patch(`${RECORDINGS}/${id}`, { assetUrl: `http://${HOST}:1/talk` })).status).toBe(
      200,
    )
    await eventually(async () => {
      const { sql } = server.database
      const [row] = await sql`
        select attempts from actor_message where key = ${`recording:${id}`} and type = 'ingest_url'`
      return row?.attempts === 1
    })
    gate.resolve()
    await eventually(async () => (await recordingOf(id)).summary?.includes('invoices'))
  })

  test.each([
    ['ends well', () => new Response(SAID)],
    ['fails for good', () => new Response('', { status: 400 })],
  ])('is processed while the old media is transcribed, and then transcribed itself: %s', async (_, first) => {
    const gate = Promise.withResolvers<void>()
    using speech = startSpeechServer(async () => {
      if (speech.requests.length > 1) return new Response(SAID)
      await gate.promise
      return first()
    })
    await transcribeBy({ kind: 'server', url: speech.url, model: 'whisper-1', apiKey: null })
    const id = await create()
    await eventually(() => speech.requests.length === 1)
    await replaceBy(id, wav(2))
    expect((await recordingOf(id)).transcript.status).toBe('processing')
    gate.resolve()
    await reached(id, 'completed')
    expect(speech.requests).toHaveLength(2)
    // Not after the end of the new audio.
    expect((await utterancesOf(id)).map(({ endSec }: { endSec: number }) => endSec)).toEqual([1.25, 2, 2])
  })
})

test('deleting a recording ends its running command', async () => {
  const pids = join(folder, 'pids')
  await transcribeBy(script(`echo $$ > ${pids}; sleep 1000`))
  const id = await create()
  await eventually(() => existsSync(pids) && readFileSync(pids, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(pids, 'utf8'))
  expect((await client.delete(`${RECORDINGS}/${id}`)).status).toBe(204)
  await eventually(() => !isRunning(pid))
  await eventually(() => scratchFolders().length === 0)
  const left = await server.database.sql`select 1 from transcript_utterance where recording_id = ${id}`
  expect(left).toHaveLength(0)
})

test('kill -9 of the worker midway: the command ends, and another worker retries it once', async () => {
  await transcribeBy(null)
  const id = await create()
  await reached(id, 'waiting')
  await stopWorkers()
  const go = join(folder, 'second')
  const pids = join(folder, 'killed')
  const name = join(folder, 'killed.sh')
  writeFileSync(name, `echo $$ >> ${pids}; while [ ! -e ${go} ]; do sleep 0.05; done; echo '${SAID}'`)
  await queue(id)
  const worker = new URL('support/worker.ts', import.meta.url).pathname
  const spawn = () =>
    Bun.spawn([process.execPath, worker, server.database.url, server.deps.config.dataDir], {
      env: { ...environment, TRANSCRIBE_COMMAND: `sh ${name}` },
    })
  const runs = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [])
  const first = spawn()
  await eventually(() => runs().length === 1)
  first.kill('SIGKILL')
  await first.exited
  const [orphan] = runs()
  await eventually(() => !isRunning(orphan!))
  expect(scratchFolders()).toHaveLength(1)
  const second = spawn()
  try {
    await eventually(() => runs().length === 2)
    writeFileSync(go, '')
    await reached(id, 'completed')
    await idle(id)
  } finally {
    second.kill('SIGKILL')
    await second.exited
  }
  expect(await utterancesOf(id)).toEqual(UTTERANCES)
  expect([runs().length, scratchFolders()]).toEqual([2, []])
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
