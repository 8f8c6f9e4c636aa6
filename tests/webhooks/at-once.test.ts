/** Requests, turns and maintenance on one webhook at the same moment. Rows are held by hand, so that each order happens. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { orphanMailboxes } from '../../src/actors/orphan-mailboxes.ts'
import type { Query, Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { webhookErasure } from '../../src/tell/webhooks/erasure.ts'
import { deliveryActors } from '../../src/tell/webhooks/maintenance.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createWebhook, startReceiver, startSendingServer, WEBHOOKS } from '../support/webhooks.ts'

setDefaultTimeout(60_000)

let server: TestServer
/** Another process, since requests on one object take turns within a process. */
let other: TestServer
beforeAll(async () => {
  server = await startTestServer()
  other = await startTestServer({ beside: server })
})
afterAll(async () => {
  await other.stop()
  await server.stop()
})

const URL = 'https://example.com/earshot'

interface Own extends TestTenant {
  readonly client: Client
}

async function tenant(): Promise<Own> {
  const made = await server.createTenant()
  return { ...made, client: server.as({ apiKey: made.apiKey }) }
}

/** Runs `work` in a transaction that stays open. @returns how to commit it */
async function hold(work: (tx: Tx) => Promise<unknown>): Promise<() => Promise<unknown>> {
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const done = transaction(server.database.sql, async (tx) => {
    await work(tx)
    held.resolve()
    await release.promise
  })
  await Promise.race([held.promise, done])
  return () => {
    release.resolve()
    return done
  }
}

/** Until so many connections wait for a lock, or `work` has ended. */
async function waiting(count: number, work: Promise<unknown> = new Promise(() => {})): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  void work.then(end, end)
  await eventually(async () => {
    if (isOver) return true
    const rows = await server.database.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return rows.length >= count
  })
}

/** An event as of a ping. */
async function addEvent(webhookId: string): Promise<string> {
  const id = crypto.randomUUID()
  await server.database.sql`
    insert into webhook_event (id, organization_id, webhook_id, type, data)
    select ${id}, organization_id, id, 'ping', '{}' from webhook where id = ${webhookId}`
  return id
}

/** Stores a delivery that was put aside, with its actor if it has one, as a turn does. */
async function putAside(sql: Query, webhookId: string, eventId: string, hasActor = true): Promise<string> {
  const id = crypto.randomUUID()
  await sql`
    insert into webhook_delivery (id, organization_id, webhook_id, event_id, type, status, attempts, has_actor)
    select ${id}, organization_id, id, ${eventId}, 'ping', 'failed', 2, ${hasActor} from webhook where id = ${webhookId}`
  if (hasActor) await addMailbox(sql, id)
  return id
}

const addMailbox = (sql: Query, deliveryId: string) =>
  sql`insert into actor_mailbox (key, last_seq) values (${`webhook_delivery:${deliveryId}`}, 1)`

const mailboxes = (deliveryId: string) =>
  server.database.sql`select from actor_mailbox where key = ${`webhook_delivery:${deliveryId}`}`

describe('a change of the description', () => {
  test('leaves a webhook disabled that a turn disables meanwhile', async () => {
    const { client } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const commit = await hold(
      (tx) => tx`
        update webhook set enabled = false, disabled_reason = 'gone', disabled_at = now(), version = version + 1
        where id = ${id}`,
    )
    const patched = client.patch(`${WEBHOOKS}/${id}`, { description: 'new' })
    await waiting(1)
    await commit()
    const state = { description: 'new', enabled: false, disabledReason: 'gone' }
    expect((await patched).body).toMatchObject(state)
    expect((await client.get(`${WEBHOOKS}/${id}`)).body).toMatchObject(state)
  })

  test('leaves the pause that the receiver asked for; another URL ends it', async () => {
    const { client } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const { sql } = server.database
    await sql`update webhook set paused_until = now() + interval '1 hour' where id = ${id}`
    const isPaused = async () =>
      (await sql`select paused_until is not null as paused from webhook where id = ${id}`)[0]?.paused
    await client.patch(`${WEBHOOKS}/${id}`, { description: 'new' })
    expect(await isPaused()).toBe(true)
    await client.patch(`${WEBHOOKS}/${id}`, { url: `${URL}/2` })
    expect(await isPaused()).toBe(false)
  })
})

describe('a transaction that looked for webhooks before', () => {
  /** A transaction that stays open and has written a feedback record. */
  async function writing({ organizationId, client }: Own) {
    const source = await createSource(client)
    return hold(
      (tx) => tx`
        insert into feedback_record (organization_id, feedback_source_id, fields, display_ts)
        values (${organizationId}, ${source}, '[]', now())`,
    )
  }

  /** Whether the request is answered, or the service looks a second time for transactions that have not ended. */
  async function outcome(request: Promise<unknown>): Promise<'answered' | 'waits'> {
    const looks = new Set<string>()
    let isAnswered = false
    void request.then(() => {
      isAnswered = true
    })
    return eventually(async () => {
      if (isAnswered) return 'answered'
      const found = await server.database.sql`
        select query_start::text as at from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query like '%age(backend_xid)%'`
      for (const { at } of found) looks.add(at)
      return looks.size > 1 && 'waits'
    })
  }

  test('ends before a new webhook is answered', async () => {
    const own = await tenant()
    const commit = await writing(own)
    const created = own.client.post(WEBHOOKS, { url: URL, types: ['feedback_record.created'] })
    expect(await outcome(created)).toBe('waits')
    await commit()
    expect((await created).status).toBe(201)
  })

  test('ends before other types of a webhook are answered', async () => {
    const own = await tenant()
    const { id } = await createWebhook(own.client, { url: URL, types: ['signal.created'] })
    const commit = await writing(own)
    const changed = own.client.patch(`${WEBHOOKS}/${id}`, { types: ['feedback_record.created'] })
    expect(await outcome(changed)).toBe('waits')
    await commit()
    expect((await changed).status).toBe(200)
  })
})

test.each([
  ['failed', 'is retried under the delivery that there is'],
  ['delivered', 'stays delivered'],
])('an event that two turns send, and one finds %s, %s', async (status) => {
  const sending = await startSendingServer()
  const receiver = startReceiver()
  const { apiKey } = await sending.createTenant()
  const client = sending.as({ apiKey })
  const { sql } = sending.database
  const { id } = await createWebhook(client, { url: receiver.url, enabled: false })
  await createRecord(client, await createSource(client))
  await client.patch(`${WEBHOOKS}/${id}`, { enabled: true })
  // The recovery attempts the event. Meanwhile another turn records its own attempt.
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Response>()
  receiver.answer = () => {
    asked.resolve()
    return answer.promise
  }
  await client.post(`${WEBHOOKS}/${id}/recover`, { since: '2026-01-01T00:00:00Z' })
  await asked.promise
  await sql`
    insert into webhook_delivery (id, organization_id, webhook_id, event_id, type, status, attempts)
    select gen_random_uuid(), organization_id, ${id}, id, type, ${status}, 1 from webhook_event`
  receiver.answer = () => new Response()
  answer.resolve(new Response(null, { status: 500 }))
  await eventually(async () => (await sql`select from webhook_attempt`).length > 0)
  await eventually(
    async () => (await client.get(`${WEBHOOKS}/${id}/deliveries`)).body.data[0]?.status === 'delivered',
  )
  await eventually(async () => (await sql`select from actor_message`).length === 0)
  expect(receiver.received).toHaveLength(status === 'delivered' ? 1 : 2)
  expect(
    await sql`
      select key from actor_mailbox m
      where key like 'webhook_delivery:%' and not exists (
        select from webhook_delivery d where m.key = 'webhook_delivery:' || d.id
      )`,
  ).toHaveLength(0)
  await sending.stop()
  await receiver.stop()
})

test('two erasures at once both find what the other one wrote', async () => {
  const { client, organizationId } = await tenant()
  await createWebhook(client, { url: URL })
  await createRecord(client, await createSource(client), { fields: [field({ value: 'Ada and Bob' })] })
  const { sql } = server.database
  const erase = (tx: Tx, word: string) => {
    const value = (data: unknown) => JSON.parse(JSON.stringify(data).replaceAll(word, '[erased]'))
    const person = {
      organizationId,
      requestedAt: new Date(Date.now() + 60_000),
      recordingIds: [],
      eraser: { value },
    }
    return webhookErasure.step(tx, person as never, null, async () => {})
  }
  const commit = await hold((tx) => erase(tx, 'Ada'))
  const second = transaction(sql, (tx) => erase(tx, 'Bob'))
  await waiting(1, second)
  await commit()
  await second
  const [event] = await sql<{ data: string }[]>`
    select data::text as data from webhook_event where organization_id = ${organizationId}`
  expect(event?.data).not.toMatch(/Ada|Bob/)
})

describe('no mailbox of a delivery stays', () => {
  test('when a webhook is deleted while its turn puts a delivery aside', async () => {
    const { client } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const event = await addEvent(id)
    let delivery = ''
    const commit = await hold(async (tx) => {
      await tx`select from webhook where id = ${id} for no key update`
      delivery = await putAside(tx, id, event)
    })
    const deleted = client.delete(`${WEBHOOKS}/${id}`)
    await waiting(1)
    await commit()
    expect((await deleted).status).toBe(204)
    expect(await mailboxes(delivery)).toHaveLength(0)
  })

  test('when a webhook is deleted while a delivery is asked for again', async () => {
    const { client, apiKey } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const delivery = await putAside(server.database.sql, id, await addEvent(id), false)
    const commit = await hold((tx) => tx`select from webhook where id = ${id} for update`)
    const deleted = client.delete(`${WEBHOOKS}/${id}`)
    await waiting(1)
    const asked = other.as({ apiKey }).post(`${WEBHOOKS}/${id}/deliveries/${delivery}/redeliver`, {})
    await waiting(2, asked)
    await commit()
    expect((await deleted).status).toBe(204)
    expect([202, 404]).toContain((await asked).status)
    expect(await mailboxes(delivery)).toHaveLength(0)
  })

  test('when old events are deleted while a turn sends one of them', async () => {
    const { client } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const { sql } = server.database
    const event = await addEvent(id)
    const delivery = await putAside(sql, id, event, false)
    await sql`update webhook_event set occurred_at = now() - interval '31 days' where id = ${event}`
    const commit = await hold(async (tx) => {
      await tx`update webhook_delivery set has_actor = true where id = ${delivery}`
      await addMailbox(tx, delivery)
    })
    const task = server.features.maintenance.find(({ name }) => name === 'webhook_log')
    const run = () => task?.run(new AbortController().signal)
    const first = run()
    await waiting(1, first)
    await commit()
    await first
    await run()
    expect(await sql`select from webhook_delivery where id = ${delivery}`).toHaveLength(0)
    expect(await mailboxes(delivery)).toHaveLength(0)
  })

  test('of those that earlier versions left', async () => {
    const { client } = await tenant()
    const { id } = await createWebhook(client, { url: URL })
    const { sql } = server.database
    const present = await putAside(sql, id, await addEvent(id))
    const gone = crypto.randomUUID()
    await addMailbox(sql, gone)
    const keys = [present, gone].map((one) => `webhook_delivery:${one}`)
    await transaction(sql, (tx) => orphanMailboxes([deliveryActors]).change(tx, [...keys, `webhook:${id}`]))
    expect(await mailboxes(gone)).toHaveLength(0)
    expect(await mailboxes(present)).toHaveLength(1)
  })
})
