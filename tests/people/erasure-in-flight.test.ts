/**
 * A person is erased while something that names them is in flight on every way in: it was received before the erasure was requested, and
 * is stored after the erasure has been everywhere once. Rows are held by locks, and turns are held up. When everything is quiet, neither
 * a table nor a file of the service contains the person's words.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import type { ActorDefinition } from '../../src/actors/types.ts'
import { valueErasure } from '../../src/calls/metadata/erasure.ts'
import { recordingActor } from '../../src/calls/processing/actor.ts'
import { transcriptionActor } from '../../src/calls/transcribe/actor.ts'
import { wakeDueSources } from '../../src/hear/importers/sources/maintenance.ts'
import { formActors } from '../../src/hear/website/actor.ts'
import { eraseSubmissions } from '../../src/hear/website/erasure.ts'
import { lockCompanies } from '../../src/people/directory.store.ts'
import { createEraser } from '../../src/people/erasure.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createMailer } from '../../src/platform/mail/create.ts'
import { QUICK } from '../support/actors.ts'
import { type Agent, assistantMessage, INGEST, openAgent, userMessage } from '../support/agents.ts'
import { insertSession } from '../support/agents-http.ts'
import { SESSIONS, sendSessionFile } from '../support/coding-sessions.ts'
import { erasureEnd, hold, passedOnce, requestErasure, whereFound } from '../support/erasure.ts'
import { eventually } from '../support/eventually.ts'
import {
  type FakeHelpDesk,
  fakeConversation,
  startFakeChatwoot,
  startFakeIntercom,
} from '../support/fake-help-desks.ts'
import { AGENT_EMAIL, API_TOKEN, fakeTicket, startFakeZendesk } from '../support/fake-zendesk.ts'
import { createSource, field, PEOPLE, putPerson, recordsOf } from '../support/feedback.ts'
import { importIn, importsOf, uploadCsv } from '../support/feedback-imports.ts'
import { wav } from '../support/media.ts'
import { hasten, joinMeeting, RECORDER_ENV, startChecks } from '../support/meetings.ts'
import { createMemoryRecorder } from '../support/memory-recorder.ts'
import { requestOf, span, TRACES } from '../support/otlp.ts'
import { createCanonicalField, createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { rounds } from '../support/rounds.ts'
import { type Answer, type Client, startTestServer, type TestServer } from '../support/server.ts'
import { createTestUpload, noise } from '../support/uploads.ts'
import { openPage } from '../support/widget.ts'

setDefaultTimeout(60_000)

let server: TestServer
const recorder = createMemoryRecorder()
const runtimes: Runtime[] = []

beforeAll(async () => {
  server = await startTestServer({ env: { ...RECORDER_ENV, OUTBOUND_ALLOW: '127.0.0.0/8' }, recorder })
})
afterAll(async () => {
  await stopWorkers()
  await server?.stop()
})

const stopWorkers = () => Promise.all(runtimes.splice(0).map((runtime) => runtime.stop(5_000)))

/** Starts a worker with these actors. */
async function work(actors: readonly ActorDefinition[]): Promise<void> {
  const runtime = createRuntime(server.deps, actors, QUICK)
  runtimes.push(runtime)
  await runtime.start()
}

const actorsOf = (...kinds: readonly string[]) =>
  server.features.actors.filter(({ kind }) => kinds.includes(kind))
const actorsBut = (...kinds: readonly string[]) =>
  server.features.actors.filter(({ kind }) => !kinds.includes(kind))

interface Case {
  readonly agent: Agent
  readonly key: Client
  readonly words: readonly string[]
  readonly first: string
  readonly last: string
  readonly email: string
  readonly person: { readonly id: number; readonly uuid: string }
}

let cases = 0

/** An organization with a person whose words occur nowhere else. */
async function openCase(opened?: Agent, address?: string): Promise<Case> {
  const agent = opened ?? (await openAgent(server))
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const n = cases++
  const [first, last, mail] = [`Qzfirst${n}x`, `Qzlast${n}x`, `qzmail${n}x`]
  const email = address ?? `${mail}@example.com`
  const person = await putPerson(key, { email, first_name: first, last_name: last })
  const webhook = { url: 'https://example.com/', types: ['*'], enabled: false }
  expect((await key.post('/v3/rest/webhooks', webhook)).status).toBe(201)
  return { agent, key, words: [first, last, mail], first, last, email, person }
}

/** Until nothing waits and the erasure has ended. Then nothing has the words. */
async function endsClean(one: Case, erasureId: string): Promise<void> {
  await erasureEnd(one.key, erasureId)
  const { sql } = server.database
  // Findings are read again some seconds after a change. Here they are read at once.
  const quiet = async () => {
    await sql`
      update actor_message set available_at = now()
      where organization_id = ${one.agent.organizationId} and key like 'rereading:%' and available_at > now()`
    const waiting = await sql`
      select 1 from actor_message
      where organization_id = ${one.agent.organizationId} and available_at < now() + interval '1 minute'`
    return waiting.count === 0
  }
  await eventually(quiet)
  expect(await whereFound(server, one.words)).toEqual({})
  expect((await one.key.get(`${PEOPLE}?email=${one.email}`)).body.data).toEqual([])
}

const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** Sends the form, which waits for another submission with the same address. */
async function formInFlight(one: Case, send: (body: object) => Promise<Answer>): Promise<void> {
  const held = await hold(
    server.database.sql,
    (tx) => tx`
      insert into form_submission (id, form, email, fields) values (${newId()}, 'builder-waitlist', ${one.email}, '{}')`,
  )
  const sent = send({ name: `${one.first} ${one.last}`, email: one.email })
  await held.blocks()
  const erased = eraseSubmissions(server.deps, one.email)
  await Promise.race([erased, Bun.sleep(300)])
  await held.release()
  expect((await sent).status).toBeLessThan(300)
  await erased
  await work(actorsOf('form'))
  const id = await requestErasure(one.key, one.person.id)
  await work(actorsBut('form', 'confirmation'))
  await endsClean(one, id)
}

/** Imports a conversation, whose messages are asked for when the erasure begins. */
async function importInFlight(
  desk: { readonly url: string; stop(): Promise<void> },
  settings: object,
  say: (one: Case) => void,
  holdUp: (asked: () => void, answered: Promise<void>) => void,
): Promise<void> {
  const one = await openCase(undefined, 'ada@example.com')
  say(one)
  const [asked, answered] = [gate(), gate()]
  holdUp(asked.open, answered.opened)
  try {
    const sources = `/v3/rest/agent-applications/${one.agent.applicationId}/import-sources`
    const body = { url: desk.url, since: '2026-01-01T00:00:00Z', ...settings }
    const created = await one.key.post(sources, body)
    expect(created.status).toBe(201)
    await work(actorsOf('import-source'))
    await wakeDueSources(server.deps)
    await asked.opened
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsBut('import-source'))
    await passedOnce(server, id)
    answered.open()
    await eventually(async () => (await one.key.get(`${sources}/${created.body.id}`)).body.messages > 0)
    await endsClean(one, id)
  } finally {
    answered.open()
    await desk.stop()
  }
}

const ways: Readonly<Record<string, () => Promise<void>>> = {
  async 'a request with a new session'() {
    const one = await openCase()
    const { agent, email, first } = one
    const held = await hold(server.database.sql, (tx) =>
      insertSession(tx as never, agent.organizationId, agent.applicationId, { external_session_id: 'late' }),
    )
    const events = [
      userMessage(1, { content: `${first} here`, participantExternalId: email }),
      assistantMessage(2, { content: `Hello ${first}` }),
    ]
    const participants = [{ externalId: email, email, displayName: one.last }]
    const sent = agent.client.post(
      INGEST,
      agent.request(events, { externalSessionId: 'late', participants, status: 'ended' }),
    )
    await held.blocks()
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await held.release()
    expect((await sent).status).toBe(200)
    await work(actorsBut('erasure'))
    await endsClean(one, id)
  },

  async 'spans whose messages are being made'() {
    const one = await openCase()
    const { agent, email, first } = one
    const said = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': 'spans',
      'user.id': email,
    }
    const sent = await agent.client.post(
      TRACES,
      requestOf([span(1, 0, { ...said, 'input.value': `${first} waits`, 'output.value': 'Yes.' })]),
    )
    expect(sent.status).toBe(200)
    const { sql } = server.database
    await sql`update otlp_trace set due_at = now() where due_at is not null`
    const held = await hold(sql, (tx) =>
      insertSession(tx as never, agent.organizationId, agent.applicationId, { external_session_id: 'spans' }),
    )
    await work(actorsOf('trace'))
    const task = server.features.maintenance.find(({ name }) => name === 'otlp_due')
    await task?.run(new AbortController().signal)
    await held.blocks()
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await held.release()
    await work(actorsBut('erasure', 'trace'))
    await endsClean(one, id)
  },

  async 'what a visitor said, which waits'() {
    const page = await openPage(server)
    const one = await openCase(page.agent)
    await page.agent.accept([userMessage(1), assistantMessage(2, { visible: true })], {
      externalSessionId: 'visited',
      participants: [{ externalId: 'v', email: one.email }],
    })
    const said = { session: 'visited', message: 'a2', rating: 'negative', comment: `${one.first} is angry` }
    expect((await page.feedback(said)).status).toBe(202)
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await work(actorsBut('erasure'))
    await endsClean(one, id)
  },

  async 'a session of a coding agent'() {
    const one = await openCase()
    const externalSessionId = newId()
    const held = await hold(
      server.database.sql,
      (tx) => tx`
        insert into coding_session (id, organization_id, agent, external_session_id)
        values (${newId()}, ${one.agent.organizationId}, 'normalized', ${externalSessionId})`,
    )
    const title = `Fix it for ${one.first} ${one.last}`
    const events = [{ text: `Mail of ${one.email}` }, { text: `${one.last} waits` }]
    const sent = one.key.post(SESSIONS, { format: 'normalized', externalSessionId, title, events })
    await held.blocks()
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await held.release()
    expect((await sent).status).toBe(201)
    await work(actorsBut('erasure'))
    await endsClean(one, id)
  },

  async 'a file of a coding agent, which waits to be read'() {
    const one = await openCase()
    const lines = [{ text: `Mail of ${one.email}` }, { text: `${one.first} ${one.last} waits` }]
    const file = lines.map((line) => JSON.stringify(line)).join('\n')
    const title = `Fix it for ${one.first} ${one.last}`
    await sendSessionFile(one.key, file, { format: 'normalized', externalSessionId: newId(), title })
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await work(actorsBut('erasure'))
    await erasureEnd(one.key, id)
    await deleteGarbage()
    await endsClean(one, id)
  },

  async 'an import that was started, and reads its file later'() {
    const one = await openCase()
    const sourceId = await createSource(one.key)
    const csv = `Ticket,Mail,Created,Comment\nt1,${one.email},2026-01-02T09:00:00Z,I am ${one.first}\nt2,,2026-01-02T09:00:00Z,Fine\n`
    const user = server.as({ userToken: one.agent.tenant.userToken })
    await work(actorsOf('feedback-import'))
    const upload = await uploadCsv(user, sourceId, csv, { file_name: `${one.first}.csv` })
    await importIn(user, sourceId, upload, 'mapping')
    await stopWorkers()
    const mapping = {
      external_id: 'Ticket',
      email: 'Mail',
      timestamp: 'Created',
      columns: { Comment: 'content:string' },
    }
    const started = await user.post(`${importsOf(sourceId)}/${upload}/start`, { mapping })
    expect(started.status).toBe(202)
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await work(actorsBut('erasure'))
    const state = await importIn(user, sourceId, upload, 'imported')
    expect([state.imported, state.refused]).toEqual([1, 1])
    await deleteGarbage()
    await endsClean(one, id)
  },

  async 'a summary of the former words'() {
    const one = await openCase()
    const { id: recordingId } = await createRecording(one.key, {
      participants: [{ speaker: 0, email: one.email }],
      transcript: [utterance(0, 5, 0, `This is ${one.first}.`)],
    })
    const [asked, answered] = [gate(), gate()]
    const slow = {
      name: 'slow',
      async summarize() {
        asked.open()
        await answered.opened
        return `${one.first} ${one.last} called.`
      },
    }
    const quick = { name: 'quick', summarize: async () => 'Somebody called.' }
    // The actors of a recording and of its transcription both make summaries.
    await work([recordingActor(server.deps, { summarizer: slow })])
    await asked.opened
    const id = await requestErasure(one.key, one.person.id)
    await work([...actorsBut('recording', 'transcription'), transcriptionActor(server.deps, null, quick)])
    const summary = async () => (await one.key.get(`${RECORDINGS}/${recordingId}`)).body.summary
    await eventually(async () => (await summary()) !== null)
    answered.open()
    await endsClean(one, id)
    expect(await summary()).toBe('Somebody called.')
  },

  async 'a transcription that runs'() {
    const one = await openCase()
    const { id: recordingId } = await createRecording(one.key, {
      participants: [{ speaker: 0, email: one.email }],
    })
    const path = join(server.deps.config.dataDir, `${recordingId}.wav`)
    writeFileSync(path, noise(1_000))
    const objectKey = `recordings/${recordingId}/${newId()}/media`
    const options = { contentType: 'audio/wav', signal: new AbortController().signal }
    await server.deps.storage.putFile(objectKey, path, options)
    await server.database.sql`
      update recording set asset_status = 'completed', asset_object_key = ${objectKey}, asset_content_type = 'audio/wav',
        asset_is_audio = true, asset_duration_seconds = 5, transcript_status = 'queued'
      where id = ${recordingId}`
    await server.database.sql`insert into actor_mailbox (key, last_seq, organization_id)
      values (${`transcription:${recordingId}`}, 1, ${one.agent.organizationId})`
    await server.database.sql`insert into actor_message (key, seq, type, organization_id)
      values (${`transcription:${recordingId}`}, 1, 'transcribe', ${one.agent.organizationId})`
    const [asked, answered] = [gate(), gate()]
    const transcriber = {
      name: 'slow',
      async transcribe() {
        asked.open()
        await answered.opened
        return {
          segments: [{ start: 0, end: 4, text: `I am ${one.first}.`, speaker: null }],
          durationSeconds: 5,
        }
      },
    }
    await work([transcriptionActor(server.deps, transcriber as never)])
    await asked.opened
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsBut('transcription'))
    await passedOnce(server, id)
    answered.open()
    await endsClean(one, id)
    const { body } = await one.key.get(`${RECORDINGS}/${recordingId}/transcript`)
    expect(JSON.stringify(body)).toContain('I am [erased].')
  },

  async 'an upload whose file name becomes the name of the recording'() {
    const one = await openCase()
    const fileSize = 1_000
    const upload = await createTestUpload(server, one.agent.tenant, {
      fileSize,
      fileName: `Call with ${one.first} ${one.last}.wav`,
    })
    const participants = [{ speaker: 0, email: one.email }]
    await one.key.patch(`${RECORDINGS}/${upload.recordingId}`, { participants })
    const bytes = noise(fileSize)
    const sent = request(upload.uploadUrl, { method: 'PUT', headers: { 'content-length': fileSize } })
    const status = new Promise((resolve, reject) => {
      sent.on('response', (response) => resolve(response.resume().statusCode))
      sent.on('error', reject)
    })
    sent.write(bytes.slice(0, 500))
    await eventually(async () => {
      const { body } = await one.key.get(`${RECORDINGS}/${upload.recordingId}`)
      return body.asset.status === 'uploading'
    })
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    sent.end(bytes.slice(500))
    expect(await status).toBeLessThan(300)
    await work(actorsBut('erasure'))
    await eventually(async () => {
      const { body } = await one.key.get(`${RECORDINGS}/${upload.recordingId}`)
      return body.asset.status === 'failed'
    })
    await endsClean(one, id)
    expect((await one.key.get(`${RECORDINGS}/${upload.recordingId}`)).body.displayName).toContain('[erased]')
  },

  async 'a change of another value of the recording'() {
    const one = await openCase()
    const [named, other] = [await createCanonicalField(one.key), await createCanonicalField(one.key)]
    const { id: recordingId } = await createRecording(one.key, {
      record: {
        externalId: `call-${newId()}`,
        values: [
          { fieldId: named, value: `of ${one.first}` },
          { fieldId: other, value: 'a' },
        ],
      },
      participants: [{ speaker: 0, email: one.email }],
    })
    const { sql } = server.database
    const held = await hold(
      sql,
      (tx) => tx`select 1 from metadata_record where recording_id = ${recordingId} for update`,
    )
    const sent = one.key.patch(`${RECORDINGS}/${recordingId}`, {
      record: { values: [{ fieldId: other, value: 'b' }] },
    })
    await held.blocks()
    const person = {
      erasureId: newId(),
      organizationId: one.agent.organizationId,
      publicId: one.person.uuid,
      email: one.email,
      names: [one.first],
      requestedAt: new Date(Date.now() + 1_000),
      recordingIds: [recordingId],
      eraser: createEraser({ email: one.email, names: [one.first] }),
      pass: 1,
    }
    const erased = transaction(sql, (tx) => valueErasure.step(tx, person, null, async () => {}))
    // Either it has ended, or it waits for the change.
    await Promise.race([erased, held.blocks().then(() => Bun.sleep(100))])
    await held.release()
    expect((await sent).status).toBe(200)
    await erased
    const id = await requestErasure(one.key, one.person.id)
    const found = await sql`select value from metadata_value where value::text ilike ${`%${one.first}%`}`
    expect([...found]).toEqual([])
    await work(server.features.actors)
    await endsClean(one, id)
  },

  async 'a person who is put'() {
    const one = await openCase()
    const held = await hold(server.database.sql, (tx) => lockCompanies(tx, one.agent.organizationId))
    const company = { name: 'Unknown', domain: 'unknown.example' }
    const person = { email: one.email, first_name: one.first, last_name: one.last, company }
    const sent = one.key.put(PEOPLE, person)
    await held.blocks()
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsOf('erasure'))
    await passedOnce(server, id)
    await held.release()
    const { status, body } = await sent
    expect([status, body.code]).toEqual([404, 'person_not_found'])
    await work(actorsBut('erasure'))
    await endsClean(one, id)
  },

  async 'a feedback record'() {
    const one = await openCase()
    const sourceId = await createSource(one.key)
    const held = await hold(
      server.database.sql,
      (tx) => tx`
        insert into feedback_record (organization_id, feedback_source_id, external_id, display_ts, fields)
        values (${one.agent.organizationId}, ${sourceId}, 'late', now(), '[]')`,
    )
    const sent = one.key.post(recordsOf(sourceId), {
      external_id: 'late',
      person_id: one.person.id,
      display_ts: '2026-01-02T09:00:00Z',
      fields: [field({ value: `I am ${one.first} ${one.last}` })],
    })
    await held.blocks()
    const erasing = requestErasure(one.key, one.person.id)
    // Either it was accepted, or it waits for the record.
    await Promise.race([erasing, Bun.sleep(100)])
    await held.release()
    expect([201, 404]).toContain((await sent).status)
    const id = await erasing
    await work(server.features.actors)
    await endsClean(one, id)
  },

  async 'a recording by its URL, which is being fetched'() {
    const one = await openCase()
    const [asked, answered] = [gate(), gate()]
    const origin = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch() {
        asked.open()
        await answered.opened
        const disposition = `attachment; filename="${one.first} ${one.last}.wav"`
        return new Response(wav(1), {
          headers: { 'content-type': 'audio/wav', 'content-disposition': disposition },
        })
      },
    })
    try {
      const { id: recordingId } = await createRecording(one.key, {
        displayName: `Call with ${one.first}`,
        assetUrl: `http://127.0.0.1:${origin.port}/${one.first}-${one.last}.wav?of=${encodeURIComponent(one.email)}`,
        participants: [{ speaker: 0, email: one.email }],
      })
      await work(actorsOf('recording'))
      await asked.opened
      const id = await requestErasure(one.key, one.person.id)
      await work(actorsBut('recording'))
      await passedOnce(server, id)
      answered.open()
      await endsClean(one, id)
      const { body } = await one.key.get(`${RECORDINGS}/${recordingId}`)
      expect([body.asset.status, body.displayName]).toEqual(['completed', 'Call with [erased]'])
    } finally {
      answered.open()
      await origin.stop(true)
    }
  },

  async 'a transcript of a meeting, which the recorder has answered'() {
    const one = await openCase()
    const user = server.as({ userToken: one.agent.tenant.userToken })
    const { id: joinId, recordingId } = await joinMeeting(user, { displayName: `Call with ${one.first}` })
    await one.key.patch(`${RECORDINGS}/${recordingId}`, { participants: [{ speaker: 7, email: one.email }] })
    const checks = startChecks(server)
    const [asked, answered] = [gate(), gate()]
    try {
      await work(actorsOf('meeting'))
      const bot = await eventually(() => recorder.botOf(joinId))
      const text = `This is ${one.first} ${one.last}.`
      bot.transcript = [{ speaker: `${one.first} ${one.last}`, startSec: 0, endSec: 1, text }]
      const [joinedAt, endedAt] = [new Date('2026-01-02T09:00:00Z'), new Date('2026-01-02T09:30:00Z')]
      recorder.after = async (operation) => {
        if (operation !== 'transcript') return
        asked.open()
        await answered.opened
      }
      bot.report = { state: 'ended', hasMedia: false, joinedAt, endedAt }
      const isAsked = asked.opened.then(() => true)
      await eventually(async () => {
        await hasten(server, joinId)
        return Promise.race([isAsked, Bun.sleep(50).then(() => false)])
      })
      const id = await requestErasure(one.key, one.person.id)
      await work(actorsBut('meeting'))
      await passedOnce(server, id)
      answered.open()
      await eventually(
        async () =>
          (await one.key.get(`${RECORDINGS}/${recordingId}`)).body.transcript.status === 'completed',
      )
      await endsClean(one, id)
      const { body } = await one.key.get(`${RECORDINGS}/${recordingId}/transcript`)
      expect(JSON.stringify(body)).toContain('This is [erased].')
    } finally {
      answered.open()
      await checks.stop()
    }
  },

  async 'a form of the website'() {
    const one = await openCase()
    await formInFlight(one, (body) => server.as('nobody').post('/api/builder-waitlist', body))
  },

  async 'a form of the widget'() {
    const page = await openPage(server)
    const one = await openCase(page.agent)
    await formInFlight(one, (body) => page.send('forms/builder-waitlist', body))
  },

  async 'a form whose mails are being written'() {
    const one = await openCase()
    const [asked, answered] = [gate(), gate()]
    const mailer = createMailer(server.deps.config)
    let begun = 0
    const slow: typeof mailer = {
      ...mailer,
      async send(mail, signal) {
        begun += 1
        if (begun === 2) asked.open()
        await answered.opened
        return mailer.send(mail, signal)
      },
    }
    const form = { name: `${one.first} ${one.last}`, email: one.email }
    expect((await server.as('nobody').post('/api/builder-waitlist', form)).status).toBe(200)
    await work(formActors(server.deps, slow))
    await asked.opened
    const erased = eraseSubmissions(server.deps, one.email)
    await Promise.race([erased, Bun.sleep(300)])
    answered.open()
    expect(await erased).toEqual({ submissions: 1, mails: 2 })
    const id = await requestErasure(one.key, one.person.id)
    await work(actorsBut('form', 'confirmation'))
    await endsClean(one, id)
  },

  async 'a conversation of Zendesk, which is being read'() {
    const desk = startFakeZendesk()
    await importInFlight(
      desk,
      { provider: 'zendesk', account: AGENT_EMAIL, secret: API_TOKEN },
      ({ first, last }) => {
        const ticket = fakeTicket(2)
        const comments = ticket.comments.map((one) => ({ ...one, body: `${one.body} of ${first} ${last}` }))
        desk.tickets.push({ ...ticket, comments })
      },
      (asked, answered) => {
        desk.intercept = async (path) => {
          if (!path.endsWith('/comments.json')) return null
          asked()
          await answered
          return null
        }
      },
    )
  },

  async 'a conversation of Intercom, which is being read'() {
    await importFromDesk(startFakeIntercom())
  },

  async 'a conversation of Chatwoot, which is being read'() {
    await importFromDesk(startFakeChatwoot())
  },
}

async function importFromDesk(desk: FakeHelpDesk): Promise<void> {
  await importInFlight(
    desk,
    desk.settings,
    ({ first, last }) => {
      const conversation = fakeConversation(2)
      const messages = conversation.messages.map((one) => ({
        ...one,
        text: `${one.text} of ${first} ${last}`,
      }))
      desk.conversations.push({ ...conversation, messages })
    },
    (asked, answered) => {
      desk.intercept = async (path) => {
        if (!path.startsWith(desk.pathOf(2))) return null
        asked()
        await answered
        return null
      }
    },
  )
}

async function deleteGarbage(): Promise<void> {
  const { sql } = server.database
  await sql`update upload_garbage set delete_after = now()`
  for (const { name, run } of server.features.maintenance)
    if (name.startsWith('upload')) await run(new AbortController().signal)
}

describe('a person is erased while this is in flight', () => {
  for (const [name, run] of Object.entries(ways))
    test(name, async () => {
      for (let round = 0; round < rounds(1, 5); round++) {
        try {
          await run()
        } finally {
          await stopWorkers()
        }
      }
    })
})
