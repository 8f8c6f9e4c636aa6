/**
 * The event loop of a service stays free and its memory stays bounded, whatever bodies it receives. While the largest
 * and most hostile body of each operation is processed, `/health` answers within 500 ms. The operations come from the
 * router, so a new operation is covered automatically.
 *
 * The service and its watcher are separate processes. Another program on the machine can delay a `/health` request, so
 * each case has three attempts.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { DEFAULT_MAX_BODY_BYTES } from '../../src/http/call.ts'
import type { Operation } from '../../src/http/operation.ts'
import { INGEST, userMessage } from '../support/agents.ts'
import { requestOf, span, TRACES } from '../support/otlp.ts'
import { useServices } from '../support/process.ts'
import { type Credential, clientOf } from '../support/server.ts'
import type { Watched } from '../support/watch-process.ts'
import { filler, hostileBodies } from './support/bodies.ts'
import {
  credentialFor,
  openStage,
  pathOf,
  type Stage,
  startWatcher,
  type Tenant,
  type Watcher,
} from './support/stage.ts'

setDefaultTimeout(600_000)

const MB = 1024 * 1024
const MAX_HEALTH_MS = 500
const MAX_MEMORY_MB = 1024
const ATTEMPTS = 3
const WATCHED_TOGETHER = 6
/** The kinds of body that take the most memory and time. Every operation receives one of them, in turn. */
const COSTLIEST = ['objects of different names', 'one text']

// Registered before the clean-up of `useServices`, which reports processes that still run.
afterAll(async () => {
  await watcher.stop()
  await stage.service.kill()
  await stage.stop()
})
const services = useServices()
let stage: Stage
let watcher: Watcher
let tenant: Tenant
let objects: Readonly<Record<string, unknown>>
beforeAll(async () => {
  stage = await openStage(services)
  watcher = await startWatcher(stage.service)
  tenant = await stage.createTenant()
  objects = await stage.objectsOf(tenant)
})

/** Statuses that are part of the interface. Any other status is a failure of the service. */
const isAnswer = (status: number) => status < 500 || status === 503

async function expectBudget(name: string, work: () => Promise<void>): Promise<void> {
  let seen: Watched | null = null
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    seen = await watcher.during(work)
    if (process.env.EARSHOT_BUDGET_REPORT !== undefined) console.info(name, JSON.stringify(seen))
    expect(seen.maxMemoryMb).toBeLessThan(MAX_MEMORY_MB)
    if (seen.worstMs < MAX_HEALTH_MS && seen.failures === 0) return
  }
  throw new Error(`${name}: ${ATTEMPTS} times beyond the budget, at last ${JSON.stringify(seen)}`)
}

async function send(method: string, path: string, credential: Credential, body: string): Promise<number> {
  const request = () =>
    clientOf(stage.service.baseUrl, credential).send(method, path, {
      headers: { 'content-type': 'application/json' },
      body,
    })
  // `fetch` may choose an idle connection that the service closes at that moment.
  const { status } = await request().catch((error: { code?: string }) => {
    if (error.code !== 'ECONNRESET') throw error
    return request()
  })
  expect(isAnswer(status)).toBe(true)
  return status
}

/** Sends requests for different sessions, `count` at a time. */
async function ingestTogether(sender: Tenant, count: number, bodyOf: (index: number) => string) {
  const credential = { agentSecret: sender.agentSecret }
  return Promise.all(
    Array.from({ length: count }, (_, index) => send('POST', INGEST, credential, bodyOf(index))),
  )
}

const ingestBody = (events: readonly object[], more = '') =>
  `{"agentKey":"demo","externalSessionId":"${crypto.randomUUID()}","events":${JSON.stringify(events)}${more}}`

test('every operation that takes a body, with the most hostile ones, all at a time', async () => {
  expect(stage.operations.length).toBeGreaterThan(20)
  const seenLimits = new Set<number>()
  let turn = 0
  const hostile = async (operation: Operation) => {
    const path = pathOf(operation, objects)
    const credential = credentialFor(operation, tenant)
    const maxBytes = operation.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
    // Operations of one size limit share the code that reads bodies, so one of them receives every kind.
    const costly = COSTLIEST[turn++ % COSTLIEST.length]
    const bodies = hostileBodies(operation.example, maxBytes).filter(
      ({ name }) => !seenLimits.has(maxBytes) || name === costly,
    )
    seenLimits.add(maxBytes)
    await Promise.all(bodies.map(({ text }) => send(operation.method, path, credential, text)))
  }
  for (let first = 0; first < stage.operations.length; first += WATCHED_TOGETHER) {
    const some = stage.operations.slice(first, first + WATCHED_TOGETHER)
    await expectBudget(some.map(({ id }) => id).join(', '), async () => {
      for (const operation of some) await hostile(operation)
    })
  }
})

describe('many bodies at a time', () => {
  // All kinds beside each other, as much as the service takes (120 MB); and the costliest kind alone.
  test.each([
    ['objects of different names', 12, ['objects of different names']],
    [
      'every kind',
      30,
      ['empty lists', 'different names', 'objects of different names', 'different texts', 'numbers'],
    ],
  ])('with unknown members: %s', async (name, count, kinds) => {
    const more = kinds.map((kind) => `,"unknown":${filler(kind, 2 * MB - 1_000)}`)
    const body = (index: number) => ingestBody([userMessage(1)], more[index % more.length])
    await expectBudget(name, async () => {
      const others = await stage.createTenant()
      const statuses = await Promise.all([
        ingestTogether(tenant, count, body),
        ingestTogether(others, count, body),
      ])
      expect(statuses.flat()).toContain(200)
    })
  })

  test('with known members', async () => {
    const content = JSON.parse(filler('different names', 200_000))
    const events = Array.from({ length: 9 }, (_, index) => userMessage(index, { content }))
    await expectBudget('contents', async () => {
      const statuses = await ingestTogether(tenant, 30, () => ingestBody(events))
      expect(statuses).toContain(200)
    })
  })

  test('of spans', async () => {
    const attributes = Array.from({ length: 60 }, (_, index) => ({
      key: `gen_ai.prompt.${index}.content`,
      value: { stringValue: filler('different names', 1_000) },
    }))
    const spans = Array.from({ length: 100 }, (_, index) => span(index + 1, index, {}, { attributes }))
    const body = JSON.stringify(requestOf(spans))
    expect(body.length).toBeGreaterThan(6 * MB)
    await expectBudget('spans', async () => {
      const credential = { agentSecret: tenant.agentSecret }
      const statuses = await Promise.all(
        Array.from({ length: 15 }, () => send('POST', TRACES, credential, body)),
      )
      expect(statuses).toContain(200)
    })
  })

  test('small ones', async () => {
    const more = `,"unknown":${filler('different names', 30_000)}`
    await expectBudget('small', async () => {
      for (let round = 0; round < 2; round++)
        await ingestTogether(tenant, 500, () => ingestBody([userMessage(1)], more))
    })
  })

  test('of the largest recordings', async () => {
    const text = 'a\n'.repeat(100)
    const transcript = Array.from({ length: 10_000 }, (_, index) => ({
      startSec: index,
      endSec: index + 1,
      text,
      speaker: index % 7,
    }))
    const body = JSON.stringify({ transcript, unknown: JSON.parse(filler('empty lists', MB)) })
    await expectBudget('recordings', async () => {
      const statuses = await Promise.all(
        Array.from({ length: 24 }, () =>
          send('POST', '/v3/rest/recordings', { apiKey: tenant.apiKey }, body),
        ),
      )
      expect(statuses).toContain(201)
    })
  })

  test('of records with as many fields and values as they may have', async () => {
    const value = JSON.parse(filler('different names', 1_900))
    const fields = Array.from({ length: 200 }, (_, index) => ({
      category: 'metadata',
      type: 'json',
      name: `field_${index}`,
      value,
    }))
    const path = `/v3/rest/feedback-sources/${objects.feedbackSourceId}/records`
    await expectBudget('records', async () => {
      const statuses = await Promise.all(
        Array.from({ length: 60 }, () =>
          send('POST', path, { apiKey: tenant.apiKey }, JSON.stringify({ fields })),
        ),
      )
      expect(statuses).toContain(201)
    })
  })
})

describe('redaction', () => {
  const patterns = (count: number) =>
    Array.from({ length: count }, (_, index) => `[a-z]{3}\\d{2}[${index}x]?\\b|[^\\w ]{9}${index % 7}`)

  test.each([
    ['names that a pattern makes the same', ['\\d{4,}'], { orders: 'numeric names' }],
    ['a pattern that looks far ahead', ['a*b|a'], 'a'.repeat(250_000)],
    ['100 patterns', patterns(100), 'It was abc12 at 10:15, they said. '.repeat(3_000)],
    ['a pattern of very many states', ['(?:a|b){40}c(?:a|b|c)*'], 'abcbbacab'.repeat(27_000)],
    ['patterns that take long to compile', ['\\pL'.repeat(330)], 'some text'],
  ])('of %s', async (name, redactedPatterns, content) => {
    const sender = await stage.createTenant({ redactedPatterns, redactedFields: ['password'] })
    const numeric = Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [1_000_000 + index, 1]))
    const one = typeof content === 'string' ? content : numeric
    const events = Array.from({ length: 8 }, (_, index) => userMessage(index, { content: one }))
    await expectBudget(name, async () => {
      const large = ingestTogether(sender, 1, () => ingestBody(events))
      const small = ingestTogether(sender, 3, () => ingestBody(events.slice(0, 1)))
      const neighbour = ingestTogether(tenant, 4, () => ingestBody([userMessage(1)]))
      expect(await neighbour).toEqual([200, 200, 200, 200])
      for (const status of await Promise.all([large, small]).then((both) => both.flat()))
        expect([200, 400, 503]).toContain(status)
    })
  })

  test('settings with patterns that take long to compile', async () => {
    const redactedPatterns = Array.from({ length: 100 }, (_, index) => `${'\\pL'.repeat(330)}${index}`)
    const path = `/v3/rest/agent-applications/${objects.applicationId}`
    await expectBudget('settings', async () => {
      const body = JSON.stringify({ settings: { redactedPatterns } })
      const status = await send('PATCH', path, { apiKey: tenant.apiKey }, body)
      expect([200, 400, 503]).toContain(status)
    })
  })
})
