/**
 * A task that wakes actors of rows finds a row that is being deleted. The deletion takes the actor along, so no message may make a mailbox
 * anew, which would stay for ever.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sendDue } from '../../src/analysis/findings/reanalysis.ts'
import { wakeDueSources } from '../../src/hear/importers/sources/maintenance.ts'
import { traceMaintenance } from '../../src/hear/otlp/maintenance.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { Objects } from '../support/at-once.ts'
import { insertRecord } from '../support/findings.ts'
import { requestOf, span, TRACES } from '../support/otlp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

interface Case {
  readonly title: string
  readonly table: string
  readonly kind: string
  /** @returns the id of a row whose actor is due */
  make(objects: Objects): Promise<string | number>
  wake(): Promise<unknown>
}

const CASES: readonly Case[] = [
  {
    title: 'an import source',
    table: 'import_source',
    kind: 'import-source',
    make: (objects) => objects.get('importSourceId'),
    wake: () => wakeDueSources(server.deps),
  },
  {
    title: 'an application with traces',
    table: 'agent_application',
    kind: 'trace',
    async make(objects) {
      const { applicationId, agentSecret } = await objects.get('application')
      const spans = [span(1, 0, { 'gen_ai.conversation.id': 'one', 'gen_ai.operation.name': 'chat' })]
      const sent = await server.as({ agentSecret }).post(TRACES, requestOf(spans))
      expect(sent.status).toBe(200)
      await server.database.sql`update otlp_trace set due_at = now() where application_id = ${applicationId}`
      return applicationId
    },
    wake: async () => traceMaintenance(server.deps)[0]?.run(new AbortController().signal),
  },
  {
    title: 'a feedback record that nothing has read',
    table: 'feedback_record',
    kind: 'insight_again',
    async make({ tenant: { organizationId } }) {
      const { sql } = server.database
      const { recordId } = await insertRecord(sql, organizationId)
      await sql`
        insert into insight_subject (id, organization_id, channel, feedback_record_id, occurred_at, state)
        values (${newId()}, ${organizationId}, 'feedback', ${recordId}, now(), 'pending')`
      return recordId
    },
    wake: () => sendDue(server.deps, { name: 'test', version: '1' }),
  },
]

test.each(CASES.map((one) => [one.title, one] as const))('%s', async (_, { table, kind, make, wake }) => {
  const { sql } = server.database
  const objects = new Objects(server, await server.createTenant())
  const id = await make(objects)
  const mailboxes = () => sql`select from actor_mailbox where key = ${`${kind}:${id}`}`
  await wake()
  expect(await mailboxes()).toHaveLength(1)
  // Without one, the task does not wait for the deletion.
  await sql`delete from actor_mailbox where key = ${`${kind}:${id}`}`
  await transaction(sql, async (tx) => {
    const gone = await tx`
      delete from ${tx(table)} where organization_id = ${objects.tenant.organizationId} and id = ${id}`
    expect(gone.count).toBe(1)
    await wake()
  })
  expect(await mailboxes()).toHaveLength(0)
})

test('a feedback record takes its actors along', async () => {
  const { sql } = server.database
  const objects = new Objects(server, await server.createTenant())
  const recordId = await objects.get('feedbackRecordId')
  const mailboxes = () => sql`select from actor_mailbox where key = ${`insight:${recordId}`}`
  expect(await mailboxes()).toHaveLength(1)
  const path = `/v3/rest/feedback-sources/${await objects.get('feedbackSourceId')}/records/${recordId}`
  const { status } = await server.as({ apiKey: objects.tenant.apiKey }).delete(path)
  expect(status).toBeLessThan(300)
  expect(await mailboxes()).toHaveLength(0)
})
