/** Generates types with openapi-typescript, compiles a client of openapi-fetch against them in strict mode, and runs it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startTestServer, type TestServer } from '../support/server.ts'

const ROOT = resolve(import.meta.dir, '../..')
const FOLDER = join(import.meta.dir, 'typed-client')

let server: TestServer
const folder = mkdtempSync(join(tmpdir(), 'earshot-typed-client-'))

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(...command: readonly string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ...command], { cwd: ROOT, stdout: 'pipe', stderr: 'pipe' })
  const [output, complaint, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.join(' ')}\n${output}${complaint}`)
  return output
}

test('a client generated from the document compiles strictly, without a cast, and works', async () => {
  const document = join(folder, 'openapi.json')
  await Bun.write(document, JSON.stringify((await server.as('nobody').get('/openapi.json')).body))
  await run('scripts/openapi-types.ts', document, join(FOLDER, 'openapi.generated.ts'))
  expect(await run('node_modules/.bin/tsc', '-p', FOLDER)).toBe('')
  expect(await Bun.file(join(FOLDER, 'client.ts')).text()).not.toMatch(
    /\bas\s+(?!const)[A-Za-z{[]|<any>|@ts-|: any\b|!\./,
  )

  // Not imported by name, because this program is compiled without the generated types.
  const client = await import(join(FOLDER, 'client.ts'))
  const { organizationId, apiKey } = await server.createTenant()
  const { agentSecret } = await server.createApplication(organizationId)
  const access = { baseUrl: server.baseUrl, apiKey, agentSecret }
  expect(await client.converse(access, 'chat-1')).toEqual({
    accepted: 3,
    types: ['user_message', 'assistant_message', 'feedback'],
    kinds: [],
    area: 'billing',
  })
  expect(await client.record(access)).toEqual({
    value: 7,
    asset: null,
    said: ['Good morning!'],
    phase: 'waiting',
    listed: 'A call',
    next: null,
  })
  expect(await client.feedback(access)).toEqual({
    isSame: true,
    code: 'external_id_exists',
    names: ['comment', 'score'],
  })
  expect(await client.administer(access)).toEqual({ access: 'workspace', days: null, details: ['range'] })
  expect(await client.askWebsite(access)).toEqual({ success: true, title: 'Bad Request' })
}, 300_000)
