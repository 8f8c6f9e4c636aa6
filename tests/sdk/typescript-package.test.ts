/** The packed TypeScript SDK as a newcomer gets it: installed into an empty folder, used by Node, Bun and a bundler, against the service. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
const README = readFileSync(join(ROOT, 'sdk/typescript/README.md'), 'utf8')
/** The first block of the page, as it stands. */
const LINES = /```ts\n([\s\S]*?)```/.exec(README)?.[1] ?? ''

let server: TestServer
let tenant: TestTenant
let application: TestApplication
let folder: string
let shop: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-package-'))
  shop = join(folder, 'shop')
  const packed = await run(ROOT, process.execPath, 'scripts/pack-sdk.ts', folder)
  await run(folder, 'mkdir', 'shop')
  await run(shop, 'npm', 'init', '-y')
  await run(
    shop,
    'npm',
    'install',
    '--offline',
    '--no-audit',
    '--no-fund',
    packed.trim().split('\n').at(-1) ?? '',
  )
  server = await startTestServer()
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId)
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(cwd: string, ...command: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    EARSHOT_URL: server?.baseUrl ?? '',
    EARSHOT_AGENT_KEY: application?.agentKey ?? '',
    EARSHOT_SECRET: application?.agentSecret ?? '',
  }
  const child = Bun.spawn([...command], { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors}${output}`)
  return output
}

async function contentsOf(externalSessionId: string): Promise<readonly string[]> {
  const { get } = server.as({ apiKey: tenant.apiKey })
  const { body } = await get('/v3/rest/agent-conversations/sessions?limit=100')
  const session = body.data.find(
    (one: { externalSessionId: string }) => one.externalSessionId === externalSessionId,
  )
  const read = await get(`/v3/rest/agent-conversations/sessions/${session.id}`)
  return read.body.events.data.map(({ content }: { content: string }) => content)
}

test('the package has code, types, a licence and a page, and no dependency', () => {
  const installed = join(shop, 'node_modules/@earshot/sdk')
  expect(readdirSync(installed).toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
  expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).dependencies).toBeUndefined()
  expect(readFileSync(join(installed, 'dist/types/index.d.ts'), 'utf8')).toContain('Earshot')
})

const USES = {
  'Node, import': { file: 'import.mjs', command: ['node', 'import.mjs'] },
  'Bun, import': { file: 'bun.ts', command: [process.execPath, 'bun.ts'] },
  'Node, require': { file: 'require.cjs', command: ['node', 'require.cjs'] },
} as const

test.each(Object.entries(USES))(
  'the lines of the page work as they stand: %s',
  async (name, { file, command }) => {
    const id = `chat-${file}`
    const lines = LINES.replace('chat-77', id)
    expect(lines).toContain(id)
    writeFileSync(join(shop, file), name.endsWith('require') ? asRequire(lines) : lines)
    await run(shop, ...command)
    expect(await contentsOf(id)).toEqual(['Where is the export?', 'Under File.'])
  },
)

const asRequire = (lines: string) => lines.replace(/import (\{.*\}) from ('.*')/, 'const $1 = require($2)')

test('every hook is an entry point of its own, by import and by require', async () => {
  const names = ['ai-sdk', 'openai-agents', 'langchain', 'mastra'].map((name) => `@earshot/sdk/${name}`)
  const list = 'console.log(all.flatMap((one) => Object.keys(one)).sort().join())'
  const imports = names.map((name) => `await import('${name}')`)
  writeFileSync(join(shop, 'hooks.mjs'), `const all = [${imports}]\n${list}\n`)
  writeFileSync(
    join(shop, 'hooks.cjs'),
    `const all = [${names.map((name) => `require('${name}')`)}]\n${list}\n`,
  )
  for (const file of ['hooks.mjs', 'hooks.cjs'])
    expect((await run(shop, 'node', file)).trim()).toBe(
      'SKIP,earshotCallbacks,earshotProcessor,earshotTelemetry,recordRun',
    )
})

test('a bundle for Node and one for the edge, which has no modules of Node', async () => {
  writeFileSync(join(shop, 'bundle.mjs'), LINES.replace('chat-77', 'chat-bundle'))
  const { success, outputs } = await Bun.build({
    entrypoints: [join(shop, 'bundle.mjs')],
    outdir: shop,
    naming: 'bundled.mjs',
    target: 'browser',
    minify: true,
  })
  expect(success).toBe(true)
  const code = await outputs[0]!.text()
  expect(code).not.toMatch(/\bfrom\s*["']node:|require\(/)
  await run(shop, 'node', 'bundled.mjs')
  expect(await contentsOf('chat-bundle')).toHaveLength(2)
})

test('types are those of the package, under strict rules', async () => {
  writeFileSync(
    join(shop, 'typed.mts'),
    `${LINES}const sent: number = earshot.stats().sent\nsession.feedback('a1', 'positive')\n// @ts-expect-error there is no such rating\nsession.feedback('a1', 'great')\nconsole.log(sent)\n`,
  )
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--lib',
    'es2023,dom',
    '--types',
    '',
  ]
  await run(shop, process.execPath, join(ROOT, 'node_modules/.bin/tsc'), ...options, 'typed.mts')
})
