/** The receiver of docs/webhooks.md, as it stands, receives what the service sends. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { createWebhook, type SendingServer, startSendingServer, WEBHOOKS } from '../support/webhooks.ts'

const ROOT = resolve(import.meta.dir, '../..')
/** Inside the tree, so that packages are found. */
const FOLDER = join(ROOT, `node_modules/.webhook-snippet-${crypto.randomUUID()}`)

let server: SendingServer
beforeAll(async () => {
  server = await startSendingServer()
})
afterAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true })
  await server.stop()
})

test('the receiver verifies deliveries and refuses others', async () => {
  const [, code = ''] =
    /```ts no-run\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8')) ?? []
  expect(code).toContain('export async function receive')
  mkdirSync(FOLDER)
  writeFileSync(join(FOLDER, 'receiver.ts'), code)
  writeFileSync(
    join(FOLDER, 'main.ts'),
    `import { receive } from './receiver.ts'
     const server = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.PORT), fetch: receive })
     console.log('port', server.port)`,
  )
  const start = async (secret: string, port: string) => {
    const child = Bun.spawn([process.execPath, join(FOLDER, 'main.ts')], {
      env: { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: port },
      stdout: 'pipe',
    })
    let output = ''
    const reading = (async () => {
      for await (const chunk of child.stdout) output += Buffer.from(chunk).toString()
    })()
    const bound = await eventually(() => /port (\d+)/.exec(output)?.[1] ?? false)
    return { child, reading, port: bound, output: () => output }
  }
  const { apiKey } = await server.createTenant()
  const client = server.as({ apiKey })
  const other = await start(`whsec_${Buffer.alloc(32).toString('base64')}`, '0')
  const { id, secret } = await createWebhook(client, { url: `http://127.0.0.1:${other.port}/` })
  const statusOfPing = async () => {
    const { body } = await client.post(`${WEBHOOKS}/${id}/ping`, {})
    return eventually(async () => {
      const { log } = (await client.get(`${WEBHOOKS}/${id}/deliveries/${body.id}`)).body
      return log[0]?.status ?? false
    })
  }
  expect(await statusOfPing()).toBe(401)
  other.child.kill()
  await other.child.exited
  const receiver = await start(secret, '0')
  await client.patch(`${WEBHOOKS}/${id}`, { url: `http://127.0.0.1:${receiver.port}/` })
  expect(await statusOfPing()).toBe(204)
  await eventually(() => receiver.output().includes(`webhookId: "${id}"`))
  receiver.child.kill()
  await receiver.child.exited
})
