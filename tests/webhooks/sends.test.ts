/** Messages to a webhook are sent by a trigger and by the service. Both leave the same rows. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { send } from '../../src/actors/mailbox.ts'
import { NO_ORGANIZATION } from '../../src/actors/types.ts'
import { webhookMessages } from '../../src/kernel/messages/webhook.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { WEBHOOKS } from '../support/webhooks.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const before = {
  'without a mailbox': null,
  'with a mailbox that knows no organization': NO_ORGANIZATION,
  'with a mailbox of the organization': 'own',
} as const

test.each(Object.entries(before))('%s', async (_, owner) => {
  const { sql } = server.database
  const tenant = await server.createTenant()
  const client = server.as({ apiKey: tenant.apiKey })
  const source = await createSource(client)
  const { organizationId } = tenant
  const rowsAfter = async (sendOne: (id: string) => Promise<unknown>) => {
    const { body } = await client.post(WEBHOOKS, {
      url: 'https://example.com/hook',
      types: ['feedback_record.created'],
    })
    const key = webhookMessages.key(body.id)
    await sql`delete from actor_mailbox where key = ${key}`
    if (owner !== null)
      await sql`
        insert into actor_mailbox (key, last_seq, organization_id)
        values (${key}, 3, ${owner === 'own' ? organizationId : owner})`
    await sendOne(body.id)
    const [row] = await sql`
      select x.last_seq, x.begun_seq, x.organization_id, m.seq, m.type, m.payload, m.attempts, m.organization_id as message_organization
      from actor_mailbox x join actor_message m using (key)
      where key = ${key}`
    await client.delete(`${WEBHOOKS}/${body.id}`)
    return row
  }
  const byTrigger = await rowsAfter(async () => {
    await createRecord(client, source)
  })
  const byService = await rowsAfter((id) =>
    transaction(server.database.sql, (tx) =>
      send(tx, [{ ...webhookMessages.message(id, 'deliver'), organizationId }]),
    ),
  )
  expect(byTrigger).toMatchObject({ organization_id: organizationId, message_organization: organizationId })
  expect(byTrigger).toEqual(byService)
})
