/** How events reach their receivers: order, retries, answers, disabling, recovery. With real receivers over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { LongHandler, LongTurn, NewMessage } from '../../src/actors/types.ts'
import { loadConfig } from '../../src/app/config.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { webhookActors } from '../../src/tell/webhooks/actor.ts'
import { examineWebhooks } from '../../src/tell/webhooks/examine.ts'
import { createSecretSeal } from '../../src/tell/webhooks/signing.ts'
import { eventually } from '../support/eventually.ts'
import { createSource, field, recordsOf } from '../support/feedback.ts'
import type { Answer, Client, TestTenant } from '../support/server.ts'
import {
  createWebhook,
  FAST,
  type SendingServer,
  startReceiver,
  startSendingServer,
  type TestReceiver,
  verify,
  WEBHOOKS,
} from '../support/webhooks.ts'

/** After the first retry, only a change of the webhook ends the wait in time. */
const PATIENT = { ...FAST, retrySeconds: [0.05, 600, 600, 600] }
/** Much less than such a wait. */
const SOON = { deadlineMs: 60_000 }

let server: SendingServer
const receivers: TestReceiver[] = []
beforeAll(async () => {
  server = await startSendingServer()
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => server.stop())

function receiving(answer?: TestReceiver['answer']): TestReceiver {
  const receiver = startReceiver(answer)
  receivers.push(receiver)
  return receiver
}

interface Sender extends TestTenant {
  readonly client: Client
  /** Causes `count` events `feedback_record.created`, one after the other. Each is called by its number. */
  cause(count: number): Promise<void>
}

async function sender(on = server): Promise<Sender> {
  const tenant = await on.createTenant()
  const client = on.as({ apiKey: tenant.apiKey })
  const sourceId = await createSource(client)
  let number = 0
  return {
    ...tenant,
    client,
    async cause(count) {
      for (let left = count; left > 0; left--) {
        const body = { fields: [field({ value: 'x' })], external_id: String(++number) }
        expect((await client.post(recordsOf(sourceId), body)).status).toBe(201)
      }
    },
  }
}

const numbers = ({ received }: TestReceiver) => received.map(({ event }) => Number(event.data.externalId))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const webhookOf = async (client: Client, id: string) => (await client.get(`${WEBHOOKS}/${id}`)).body
const deliveriesOf = async (client: Client, id: string, query = '') =>
  (await client.get(`${WEBHOOKS}/${id}/deliveries?limit=100${query}`)).body.data

describe('a delivery', () => {
  test('verifies with both libraries, has one id and the bytes of the event', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(({ attempt }) => new Response(null, { status: attempt === 1 ? 500 : 204 }))
    const { secret } = await createWebhook(client, { url: receiver.url })
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
    await cause(1)
    await eventually(() => receiver.received.length === 2)
    const [first, second] = receiver.received
    for (const one of receiver.received) verify(secret, one)
    expect(() => verify(`whsec_${Buffer.alloc(32).toString('base64')}`, first!)).toThrow()
    expect([second!.id, second!.body]).toEqual([first!.id, first!.body])
    expect(first!.id).not.toContain('.')
    expect(Object.keys(first!.event)).toEqual(['type', 'timestamp', 'data'])
    expect(first!.headers.get('content-type')).toBe('application/json')
  })

  test('comes in the order of commits, each once', async () => {
    const { client, cause } = await sender()
    const receiver = receiving()
    await createWebhook(client, { url: receiver.url })
    await cause(45)
    await eventually(() => receiver.received.length >= 45)
    expect(numbers(receiver)).toEqual(range(1, 45))
  })

  test('is of the named types only, and of the own organization only', async () => {
    const [one, other] = [await sender(), await sender()]
    const [all, none, stranger] = [receiving(), receiving(), receiving()]
    await createWebhook(one.client, { url: all.url, types: ['feedback_record.created'] })
    await createWebhook(one.client, { url: none.url, types: ['signal.created', 'theme.created'] })
    await createWebhook(other.client, { url: stranger.url })
    await one.cause(2)
    await other.cause(1)
    await eventually(() => all.received.length === 2 && stranger.received.length === 1)
    expect(none.received).toEqual([])
    expect(all.ids()).not.toContain(stranger.ids()[0])
  })

  test('begins with the first event after the creation of the webhook', async () => {
    const { client, cause } = await sender()
    const [early, late] = [receiving(), receiving()]
    await createWebhook(client, { url: early.url })
    await cause(3)
    await createWebhook(client, { url: late.url })
    await cause(2)
    await eventually(() => early.received.length === 5 && late.received.length === 2)
    expect(numbers(late)).toEqual([4, 5])
  })
})

describe('a receiver that fails', () => {
  test('once holds up later events until the retry', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(
      (one) =>
        new Response(null, { status: one.event.data.externalId === '2' && one.attempt === 1 ? 503 : 200 }),
    )
    await createWebhook(client, { url: receiver.url })
    await cause(4)
    await eventually(() => receiver.received.length === 5)
    expect(numbers(receiver)).toEqual([1, 2, 2, 3, 4])
  })

  test('again is retried beside later events', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(
      (one) =>
        new Response(null, { status: one.event.data.externalId === '2' && one.attempt < 4 ? 500 : 200 }),
    )
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(4)
    await eventually(() => receiver.received.length === 7)
    const order = numbers(receiver)
    expect(order.slice(0, 3)).toEqual([1, 2, 2])
    expect(order.filter((number) => number !== 2)).toEqual([1, 3, 4])
    const delivered = await eventually(async () => {
      const [two] = (await deliveriesOf(client, id)).filter(
        ({ attempts }: { attempts: number }) => attempts === 4,
      )
      return two?.status === 'delivered' && two
    })
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${delivered.id}`)
    expect(body.log.map(({ number, status, manual }: Answer['body']) => [number, status, manual])).toEqual([
      [1, 500, false],
      [2, 500, false],
      [3, 500, false],
      [4, 200, false],
    ])
    expect(body.event).toEqual(receiver.received.find((one) => one.event.data.externalId === '2')!.event)
  })

  test('keeps the order if the webhook is strict', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(
      (one) =>
        new Response(null, { status: one.event.data.externalId === '2' && one.attempt < 4 ? 500 : 200 }),
    )
    await createWebhook(client, { url: receiver.url, ordering: 'strict' })
    await cause(4)
    await eventually(() => receiver.received.length === 7)
    expect(numbers(receiver)).toEqual([1, 2, 2, 2, 2, 3, 4])
  })

  test('always is given up after the schedule, and later events go on', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(
      (one) =>
        new Response('no', {
          status: one.event.data.externalId === '1' ? 500 : 200,
          headers: { 'x-why': 'because' },
        }),
    )
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(2)
    const [failed] = await eventually(async () => {
      const found = await deliveriesOf(client, id, '&status=failed')
      return found.length === 1 && found
    })
    expect([failed.attempts, failed.nextAttemptAt]).toEqual([5, null])
    expect(numbers(receiver).filter((number) => number === 1)).toHaveLength(5)
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${failed.id}`)
    expect(body.log[0]).toMatchObject({
      number: 1,
      status: 500,
      body: 'no',
      error: null,
      headers: { 'x-why': 'because' },
    })
  })

  test.each([
    ['by a redirect', () => Response.redirect('http://127.0.0.1:1/', 307), 307, null],
    ['by silence', () => new Promise<Response>(() => {}), null, 'transfer_timeout'],
  ] as const)('%s counts as a failure', async (_, answer, status, error) => {
    const { client, cause } = await sender()
    const receiver = receiving((one) => (one.attempt === 1 ? (answer() as Response) : new Response()))
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(1)
    const [delivery] = await eventually(async () => {
      const found = await deliveriesOf(client, id, '&status=delivered')
      return found.length === 1 && found
    })
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${delivery.id}`)
    expect(body.log[0].status).toBe(status)
    expect(body.log[0].error === null ? null : body.log[0].error.split(':')[0]).toBe(error)
  })

  test('with Retry-After is left alone that long', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(({ attempt }) =>
      attempt === 1 ? new Response(null, { status: 429, headers: { 'retry-after': '1' } }) : new Response(),
    )
    await createWebhook(client, { url: receiver.url })
    await cause(1)
    await eventually(() => receiver.received.length === 2)
    const [first, second] = receiver.received
    // The schedule alone would retry after 50 ms.
    expect(second!.at - first!.at).toBeGreaterThan(900)
  })

  test('costs another webhook of the organization nothing', async () => {
    const { client, cause } = await sender()
    const [dead, live] = [receiving(() => new Promise<Response>(() => {})), receiving()]
    await createWebhook(client, { url: dead.url })
    await createWebhook(client, { url: live.url })
    await cause(20)
    await eventually(() => live.received.length === 20)
    expect(numbers(live)).toEqual(range(1, 20))
    // Each of its attempts takes a second.
    expect(dead.ids().length).toBeLessThan(20)
  })
})

/** An answer whose body never ends. */
const endless = (status: number, headers: Record<string, string> = {}) =>
  new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([120])) }), {
    status,
    headers,
  })

describe('an answer whose body never ends', () => {
  test('delivers with 2xx, and is asked for a pause with Retry-After', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(({ attempt }) =>
      attempt === 1 ? endless(503, { 'retry-after': '1' }) : endless(200),
    )
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(1)
    const [delivery] = await eventually(async () => {
      const found = await deliveriesOf(client, id, '&status=delivered')
      return found.length === 1 && found
    })
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${delivery.id}`)
    expect(body.log.map(({ status }: { status: number }) => status)).toEqual([503, 200])
    expect(body.log[1].body).toBe('x')
    expect(receiver.received[1]!.at - receiver.received[0]!.at).toBeGreaterThan(900)
  })

  test('disables with 410', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(() => endless(410))
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(1)
    await eventually(async () => (await webhookOf(client, id)).disabledReason === 'gone')
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a webhook whose secret cannot be opened', () => {
  test('fails and says so, is degraded in /ready, and goes on with a new secret', async () => {
    const { client, cause, organizationId } = await sender()
    const receiver = receiving()
    const { id } = await createWebhook(client, { url: receiver.url })
    expect(await examineWebhooks(server.deps.sql, server.deps.config)).toMatchObject({ ok: true })
    const other = createSecretSeal({ ...server.deps.config, secretKey: 'x'.repeat(32) })
    await server.database.sql`
      update webhook set secret = ${await other.seal('whsec_eA==', id)}
      where organization_id = ${organizationId} and id = ${id}`
    await cause(1)
    const failing = await eventually(async () => {
      const found = await webhookOf(client, id)
      return found.failingSince !== null && found
    })
    expect(failing.enabled).toBe(true)
    const [delivery] = await deliveriesOf(client, id)
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${delivery.id}`)
    expect(body.log[0]).toMatchObject({ status: null, error: expect.stringContaining('secret_unreadable') })
    expect(await examineWebhooks(server.deps.sql, server.deps.config)).toMatchObject({
      ok: false,
      detail: expect.stringContaining('1 of '),
    })
    const ready = await (await fetch(`${server.baseUrl}/ready`)).json()
    expect(ready).toMatchObject({ status: 'degraded', degraded: [{ part: 'webhooks' }] })
    expect(receiver.received).toEqual([])

    const { secret } = (await client.post(`${WEBHOOKS}/${id}/secret`, {})).body
    await cause(1)
    await eventually(() => receiver.received.length >= 1)
    verify(secret, receiver.received[0]!)
    await eventually(async () => (await webhookOf(client, id)).failingSince === null)
    expect(await examineWebhooks(server.deps.sql, server.deps.config)).toMatchObject({ ok: true })
  })
})

describe('a webhook is disabled', () => {
  test('by 410, and the team is told', async () => {
    const mailed = await startSendingServer({ env: { TEAM_EMAIL: 'team@example.com' } })
    try {
      const { client, cause } = await sender(mailed)
      const receiver = receiving(() => new Response(null, { status: 410 }))
      const { id } = await createWebhook(client, { url: receiver.url })
      await cause(3)
      const found = await eventually(async () => {
        const one = await webhookOf(client, id)
        return !one.enabled && one
      })
      expect(found).toMatchObject({ disabledReason: 'gone', enabled: false })
      expect(receiver.received).toHaveLength(1)
      const folder = `${mailed.deps.config.dataDir}/mail`
      const mail = await eventually(async () => {
        const [file] = [...new Bun.Glob('*.eml').scanSync({ cwd: folder })]
        return Bun.file(`${folder}/${file}`).text()
      })
      expect(mail).toContain('To: team@example.com')
      expect(mail).toContain(id)
      expect(mail).not.toContain('/hook')
    } finally {
      await mailed.stop()
    }
  })

  test('after days of nothing but failures, not by a failure between successes', async () => {
    const impatient = await startSendingServer({}, { ...FAST, maxFailingSeconds: 0.4 })
    try {
      const { client, cause } = await sender(impatient)
      const receiver = receiving(({ attempt }) => new Response(null, { status: attempt < 2 ? 500 : 200 }))
      const { id } = await createWebhook(client, { url: receiver.url })
      await cause(1)
      await eventually(async () => (await deliveriesOf(client, id, '&status=delivered')).length === 1)
      expect(await webhookOf(client, id)).toMatchObject({ enabled: true, failingSince: null })
      receiver.answer = () => new Response(null, { status: 500 })
      await cause(2)
      await eventually(async () => (await webhookOf(client, id)).disabledReason === 'failing')
    } finally {
      await impatient.stop()
    }
  })

  test('and enabled again: what was missed is offered and recovered in order', async () => {
    const { client, cause } = await sender()
    const receiver = receiving(
      ({ event }) => new Response(null, { status: event.data.externalId === '2' ? 410 : 200 }),
    )
    const { id } = await createWebhook(client, { url: receiver.url })
    await cause(2)
    await eventually(async () => !(await webhookOf(client, id)).enabled)
    await cause(3)
    receiver.answer = () => new Response()
    const enabled = await client.patch(`${WEBHOOKS}/${id}`, { enabled: true })
    expect(enabled.body).toMatchObject({ enabled: true, disabledReason: null, failingSince: null })
    const since = enabled.body.recoverableSince
    expect(Date.parse(since)).toBeLessThanOrEqual(Date.now())
    await cause(1)
    await eventually(() => numbers(receiver).includes(6))
    expect(numbers(receiver)).toEqual([1, 2, 6])
    const recovered = await client.post(`${WEBHOOKS}/${id}/recover`, { since: '2020-01-01T00:00:00Z' })
    expect(recovered.status).toBe(202)
    await eventually(() => receiver.received.length === 7)
    expect(numbers(receiver)).toEqual([1, 2, 6, 2, 3, 4, 5])
    expect(receiver.received[1]!.id).toBe(receiver.received[3]!.id)
    expect((await webhookOf(client, id)).recoverableSince).toBeNull()
    // A second recovery has nothing to do.
    await client.post(`${WEBHOOKS}/${id}/recover`, { since })
    await eventually(async () => (await server.database.sql`select from actor_message limit 1`).length === 0)
    expect(receiver.received).toHaveLength(7)
  })

  test('on request: nothing is sent, and ping and redelivery work', async () => {
    const { client, cause } = await sender()
    const receiver = receiving()
    const { id, secret } = await createWebhook(client, { url: receiver.url, enabled: false })
    expect(await webhookOf(client, id)).toMatchObject({ enabled: false, disabledReason: 'request' })
    await cause(1)
    const ping = await client.post(`${WEBHOOKS}/${id}/ping`, {})
    expect(ping.status).toBe(202)
    await eventually(() => receiver.received.length === 1)
    verify(secret, receiver.received[0]!)
    expect(receiver.received[0]!.event).toMatchObject({ type: 'ping', data: { webhookId: id } })
    const path = `${WEBHOOKS}/${id}/deliveries/${ping.body.id}`
    await eventually(async () => (await client.get(path)).body.status === 'delivered')
    expect(ping.headers.get('location')).toBe(path)
    expect((await client.post(`${path}/redeliver`, {})).status).toBe(202)
    await eventually(() => receiver.received.length === 2)
    expect(receiver.received[1]!.id).toBe(receiver.received[0]!.id)
    await eventually(async () => (await client.get(path)).body.log.length === 2)
    expect(
      (await client.post(`${WEBHOOKS}/${id}/recover`, { since: '2026-01-01T00:00:00Z' })).body.code,
    ).toBe('webhook_disabled')
  })
})

describe('a webhook that waits', () => {
  let patient: SendingServer
  beforeAll(async () => {
    patient = await startSendingServer({}, PATIENT)
  })
  afterAll(() => patient.stop())
  const failing = () => new Response(null, { status: 500 })
  const pausing = () => new Response(null, { status: 503, headers: { 'retry-after': '600' } })
  /** Until the turn has ended that waits. */
  const waits = (id: string) =>
    eventually(async () => {
      const { sql } = patient.database
      const [head] = await sql`
        select m.available_at > now() + interval '1 minute' and a.owner is null as waits
        from actor_message m join actor_mailbox a using (key)
        where m.key = ${`webhook:${id}`} order by m.seq limit 1`
      return head?.waits === true
    })

  test.each([
    ['for the retry of a strict delivery', 'strict', failing, 2],
    ['because the receiver asked for a pause', 'relaxed', pausing, 1],
  ] as const)('%s goes on at once when its URL changes', async (_, ordering, answer, attempts) => {
    const { client, cause } = await sender(patient)
    const [bad, good] = [receiving(answer), receiving()]
    const { id } = await createWebhook(client, { url: bad.url, ordering })
    await cause(1)
    await waits(id)
    expect(bad.received).toHaveLength(attempts)
    expect((await client.patch(`${WEBHOOKS}/${id}`, { url: good.url })).status).toBe(200)
    await eventually(() => good.received.length === 1, SOON)
    await cause(2)
    await eventually(() => good.received.length === 3, SOON)
    expect(numbers(good)).toEqual([1, 2, 3])
    expect(bad.received).toHaveLength(attempts)
  })

  test('goes on at once when it was disabled and is enabled again', async () => {
    const { client, cause } = await sender(patient)
    const receiver = receiving(failing)
    const { id } = await createWebhook(client, { url: receiver.url, ordering: 'strict' })
    await cause(1)
    await waits(id)
    receiver.answer = () => new Response()
    await client.patch(`${WEBHOOKS}/${id}`, { enabled: false })
    await cause(1)
    await client.patch(`${WEBHOOKS}/${id}`, { enabled: true })
    await cause(1)
    await eventually(() => numbers(receiver).includes(3), SOON)
    expect(numbers(receiver)).toEqual([1, 1, 1, 3])
  })

  test('does not wait for what changed at the end of the turn', async () => {
    const idle = await startSendingServer({}, PATIENT, false)
    try {
      const { client, cause, organizationId } = await sender(idle)
      const receiver = receiving(pausing)
      const { id } = await createWebhook(client, { url: receiver.url })
      await cause(1)
      const { sql, log } = idle.deps
      const sent: NewMessage[] = []
      const send = async (messages: readonly NewMessage[]) => void sent.push(...messages)
      const step: LongTurn['step'] = (work) => transaction(sql, (tx) => work(tx, send))
      const message = { key: `webhook:${id}`, id, seq: 1, type: 'deliver', payload: {}, attempts: 0 } as const
      const deliver = webhookActors(idle.deps, PATIENT)[0]!.handlers.deliver as LongHandler
      await deliver({
        message,
        organization: organizationId,
        signal: new AbortController().signal,
        log,
        step,
        read: step,
        async finish(work) {
          expect((await client.patch(`${WEBHOOKS}/${id}`, { enabled: true })).status).toBe(200)
          return step(work)
        },
      })
      expect(sent).toMatchObject([{ key: message.key, type: 'deliver', delayMs: 0 }])
    } finally {
      await idle.stop()
    }
  })
})

describe('the secret', () => {
  test('is replaced: both sign for a day, then the new one alone', async () => {
    const { client, cause } = await sender()
    const receiver = receiving()
    const { id, secret: old } = await createWebhook(client, { url: receiver.url })
    const rotated = await client.post(`${WEBHOOKS}/${id}/secret`, {})
    expect(rotated.status).toBe(201)
    const day = Date.parse(rotated.body.previousValidUntil) - Date.now()
    expect(Math.round(day / 3_600_000)).toBe(24)
    await cause(1)
    await eventually(() => receiver.received.length === 1)
    for (const secret of [old, rotated.body.secret]) verify(secret, receiver.received[0]!)
    const { sql } = server.database
    await sql`update webhook set previous_secret_until = now() - interval '1 second' where id = ${id}`
    await cause(1)
    await eventually(() => receiver.received.length === 2)
    verify(rotated.body.secret, receiver.received[1]!)
    expect(() => verify(old, receiver.received[1]!)).toThrow()
  })

  test('is sealed in the database and never shown again', async () => {
    const { client } = await sender()
    const { id, secret } = await createWebhook(client, { url: 'https://example.com/' })
    expect(JSON.stringify((await client.get(`${WEBHOOKS}/${id}`)).body)).not.toContain('whsec_')
    const [row] = await server.database.sql`select secret from webhook where id = ${id}`
    const bytes = Buffer.from(row!.secret)
    expect(bytes.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false)
    expect(bytes.includes(secret)).toBe(false)
  })
})

describe('the outbound policy', () => {
  test('refuses a private address at create and at change', async () => {
    const { client } = await sender()
    for (const url of ['http://10.0.0.1/', 'http://localhost:1/', 'http://[::1]/', 'ftp://example.com/']) {
      const refused = await client.post(WEBHOOKS, { url, types: ['*'] })
      expect([refused.status, refused.body.code, refused.body.details[0].path]).toEqual([
        400,
        'url_not_allowed',
        'url',
      ])
    }
    const { id } = await createWebhook(client, { url: 'https://example.com/' })
    expect((await client.patch(`${WEBHOOKS}/${id}`, { url: 'http://10.0.0.1/' })).body.code).toBe(
      'url_not_allowed',
    )
  })

  test('refuses a private address at each attempt, whatever was allowed before', async () => {
    const { client, cause } = await sender()
    const receiver = receiving()
    const { id } = await createWebhook(client, { url: receiver.url })
    // As a name whose address becomes private: the stored URL was judged by other settings.
    await server.database.sql`update webhook set url = 'http://10.0.0.1/' where id = ${id}`
    await cause(1)
    const [failed] = await eventually(async () => {
      const found = await deliveriesOf(client, id, '&status=failed')
      return found.length === 1 && found
    })
    const { body } = await client.get(`${WEBHOOKS}/${id}/deliveries/${failed.id}`)
    expect(body.log).toHaveLength(5)
    expect(body.log[0].error).toStartWith('url_not_allowed')
    expect(loadConfig({}).outboundAllow).toEqual([])
  })
})
