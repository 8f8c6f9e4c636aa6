/** `earshot webhook …`: each command once, against a service that sends. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { resolve } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { createSource, field, recordsOf } from '../support/feedback.ts'
import {
  type SendingServer,
  startReceiver,
  startSendingServer,
  type TestReceiver,
  verify,
} from '../support/webhooks.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
const SECRET_KEY = 'z'.repeat(43)

let server: SendingServer
let receiver: TestReceiver
let organizationId: string
let apiKey: string
beforeAll(async () => {
  server = await startSendingServer({ env: { SECRET_KEY } })
  receiver = startReceiver()
  const tenant = await server.createTenant()
  organizationId = tenant.organizationId
  apiKey = tenant.apiKey
})
afterAll(async () => {
  await receiver.stop()
  await server.stop()
})

const environment = () => ({
  PATH: process.env.PATH ?? '',
  DATABASE_URL: server.database.url,
  DATA_DIR: server.deps.config.dataDir,
  OUTBOUND_ALLOW: '127.0.0.0/8',
  SECRET_KEY,
})

async function earshot(...args: readonly string[]) {
  const child = Bun.spawn([...EARSHOT, 'webhook', ...args], {
    cwd: ROOT,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { out, err, code }
}

async function json(...args: readonly string[]) {
  const { out, err, code } = await earshot(...args, '--org', organizationId, '--json')
  expect({ args, err, code }).toEqual({ args, err: '', code: 0 })
  return JSON.parse(out)
}

test('creates, shows, changes, pings, redelivers, recovers, rotates and deletes', async () => {
  const created = await json('create', receiver.url, '--type', 'feedback_record.created', '--strict')
  expect(created).toMatchObject({ types: ['feedback_record.created'], ordering: 'strict', enabled: true })
  const { id, secret } = created
  expect((await json('list')).webhooks).toMatchObject([{ id }])
  expect(await json('show', id)).toMatchObject({ id, url: receiver.url })
  const ping = await json('ping', id)
  await eventually(() => receiver.received.length === 1)
  verify(secret, receiver.received[0]!)
  const [delivery] = await eventually(async () => {
    const { deliveries } = await json('deliveries', id, '--status', 'delivered')
    return deliveries.length === 1 && deliveries
  })
  expect(delivery.id).toBe(ping.id)
  await json('redeliver', id, ping.id)
  await eventually(() => receiver.received.length === 2)
  expect(await json('update', id, '--disable')).toMatchObject({ enabled: false, disabledReason: 'request' })
  expect(
    await json('update', id, '--enable', '--type', '*', '--relaxed', '--description', 'x'),
  ).toMatchObject({
    enabled: true,
    types: ['*'],
    ordering: 'relaxed',
    description: 'x',
  })
  expect(await json('recover', id, '--since', '2026-01-01T00:00:00Z')).toMatchObject({
    since: '2026-01-01T00:00:00Z',
  })
  expect((await json('rotate', id)).secret).not.toBe(secret)
  await json('delete', id)
  expect((await json('list')).webhooks).toEqual([])
  const wrong = await earshot('create', receiver.url, '--type', 'nothing', '--org', organizationId)
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--type must be one of')])
})

function listening(baseUrl: string, ...args: readonly string[]) {
  const child = Bun.spawn([...EARSHOT, 'webhook', 'listen', ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', EARSHOT_URL: baseUrl, EARSHOT_API_KEY: apiKey },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const output = { out: '', err: '' }
  const read = async (stream: ReadableStream<Uint8Array>, name: 'out' | 'err') => {
    for await (const chunk of stream) output[name] += Buffer.from(chunk).toString()
  }
  const reading = Promise.all([read(child.stdout, 'out'), read(child.stderr, 'err')])
  return { child, output, reading }
}

test('listen prints verified events and leaves no webhook behind', async () => {
  const { child, output, reading } = listening(server.baseUrl, '--type', 'feedback_record.created', '--json')
  await eventually(() => output.err.includes('listening at'))
  const client = server.as({ apiKey })
  const sourceId = await createSource(client)
  await client.post(recordsOf(sourceId), { fields: [field()], external_id: 'heard' })
  await eventually(() => output.out.includes('heard'))
  expect(JSON.parse(output.out)).toMatchObject({
    type: 'feedback_record.created',
    data: { externalId: 'heard' },
  })
  child.kill('SIGINT')
  expect(await child.exited).toBe(0)
  await reading
  expect((await client.get('/v3/rest/webhooks')).body.data).toEqual([])
})

test('listen says what to set where the service may not reach it', async () => {
  const { child, output, reading } = listening(server.baseUrl, '--host', '::1')
  expect(await child.exited).toBe(2)
  await reading
  expect(output.err).toContain('OUTBOUND_ALLOW=::1/128')
})
