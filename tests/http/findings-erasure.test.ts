/** After a person is erased, nothing of what the analysis found in their words is left. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, PEOPLE, putPerson } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(240_000)

const EMAIL = 'Zephyrine.Quill@Example.com'
const SAID = 'How can Zephyrine change the billing address?'

let server: TestServer
let worker: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer()
  worker = await startTestServer({ beside: server, actors: true })
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})
afterAll(async () => {
  await worker?.stop()
  await server?.stop()
})

const findings = async () => [
  ...(await server.database.sql`
    select channel, comment, participant_external_id as speaker, person_id as person
    from agent_signal where source = 'qualitative_inference' and kind = 'question' order by channel`),
]

/** Everything that is stored about findings, as text. */
async function everything(): Promise<string> {
  const { sql } = server.database
  const rows = await Promise.all([
    sql`select t::text as text from agent_signal t`,
    sql`select t::text as text from insight_subject t`,
    sql`select t::text as text from finding_verdict t`,
  ])
  return rows.flatMap((some) => some.map(({ text }) => text)).join('\n')
}

test('erasing a person removes findings, outcomes and verdicts of their feedback, and their name from the rest', async () => {
  const { sql } = server.database
  const { id } = await putPerson(key, { email: EMAIL, first_name: 'Zephyrine', last_name: 'Quillfeather' })
  const { id: recordId } = await createRecord(key, await createSource(key), {
    person_id: id,
    fields: [field({ value: SAID })],
  })
  await createRecording(key, {
    participants: [{ speaker: 0, email: EMAIL }],
    transcript: [{ ...utterance(0, 1), text: SAID }],
  })
  await agent.accept(
    [userMessage(0, { content: SAID, participantExternalId: 'zephyrine' }), assistantMessage(1)],
    {
      participants: [{ externalId: 'zephyrine', displayName: 'Zephyrine', email: EMAIL }],
      status: 'ended',
    },
  )
  // Second passes are over, too. Themes wait for more items.
  const quiet = () =>
    eventually(
      async () => (await sql`select from actor_message where key not like 'themes:%' limit 1`).length === 0,
      { deadlineMs: 100_000 },
    )
  await quiet()
  expect(await findings()).toMatchObject(
    ['conversation', 'feedback', 'recording'].map((channel) => ({ channel, comment: SAID, person: id })),
  )
  await sql`
    insert into finding_verdict (id, organization_id, subject_id, kind, was_right, analyzer_name, analyzer_version, tier)
    select ${newId()}::uuid, organization_id, id, 'question', true, 'builtin', '1', 'sure'
    from insight_subject where feedback_record_id = ${recordId}`
  expect((await key.delete(`${PEOPLE}/${id}`)).status).toBe(202)
  // The recording is analysed again without the name.
  const erased = SAID.replace('Zephyrine', '[erased]')
  await eventually(async () => {
    const found = (await findings()).map(({ channel, comment }) => `${channel} ${comment}`)
    return found.join() === `conversation ${erased},recording ${erased}`
  })
  await quiet()
  expect(await everything()).not.toMatch(/zephyrine|quill/i)
  expect((await findings()).map(({ person }) => person)).toEqual([null, null])
  const [left] = await sql`
    select
      (select count(*) from agent_signal where feedback_record_id is not null) as findings,
      (select count(*) from insight_subject where channel = 'feedback') as subjects,
      (select count(*) from finding_verdict) as verdicts`
  expect({ ...left }).toEqual({ findings: 0, subjects: 0, verdicts: 0 })
})
