/** However an address is written, one person has it: over every way in, and where an earlier version stored what was sent. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { personAddressesChange } from '../../src/people/addresses.ts'
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agent, openAgent, userMessage } from '../support/agents.ts'
import { insertSession } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { PEOPLE, putPerson } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterAll(() => server?.stop())
beforeEach(async () => {
  agent = await openAgent(server)
  key = server.as({ apiKey: agent.tenant.apiKey })
})

const people = async () => (await key.get(`${PEOPLE}?limit=100`)).body.data

const VARIANTS = [
  'jos\u00e9@ex\u00e4mple.de',
  'jose\u0301@exa\u0308mple.de',
  'jos\u00e9@xn--exmple-cua.de',
  '\u200bjos\u00e9\u200e@ex\u00e4mple.de\ufeff',
  'jos\u00e9@ex\u00e4mple.de.',
  'mailto:jos\u00e9@ex\u00e4mple.de',
  '<jos\u00e9@EX\u00c4MPLE.de>',
]

test('of a participant and of a person over REST', async () => {
  const person = await putPerson(key, { email: VARIANTS[0] as string })
  for (const [n, email] of VARIANTS.entries()) {
    expect(await putPerson(key, { email })).toMatchObject({ id: person.id })
    const { sessionId } = await agent.accept([userMessage(1)], {
      externalSessionId: `s${n}`,
      participants: [{ externalId: 'j', email }],
    })
    await eventually(async () => {
      const rows = await server.database.sql`
        select person_id from agent_session_person where session_id = ${String(sessionId)}`
      return rows.length === 1 && Number(rows[0]?.person_id) === Number(person.id)
    })
  }
  expect(await people()).toHaveLength(1)
})

test('that earlier versions stored becomes the normal one, and people who have one address are merged', async () => {
  const { sql } = server.database
  for (const email of VARIANTS)
    await sql`
      insert into person (public_id, organization_id, email, boundary)
      values (${newId()}, ${agent.organizationId}, ${email}, 'external')`
  await sql`delete from data_change where name = ${personAddressesChange.name}`
  const options = { runner: newId(), stopping: new AbortController().signal, pauseRatio: 0 }
  expect(await runDataChange(sql, personAddressesChange, options)).toBe('finished')
  await eventually(async () => (await people()).length === 1)
  expect(await people()).toMatchObject([{ email: 'jos\u00e9@xn--exmple-cua.de' }])
})

test('of a participant that was stored otherwise is erased with the person', async () => {
  const { sql } = server.database
  const person = await putPerson(key, { email: VARIANTS[0] as string })
  const ids = await Promise.all(
    VARIANTS.map((email) =>
      insertSession(sql, agent.organizationId, agent.applicationId, {
        participants: sql.json([{ externalId: 'o', email }]),
      }),
    ),
  )
  expect((await key.delete(`${PEOPLE}/${person.id}`)).status).toBe(202)
  await eventually(async () => {
    const rows = await sql`
      select from agent_session where id = any(${ids}::uuid[]) and participants::text like '%@%'`
    return rows.length === 0
  })
})
