/** The Python SDK: its own tests in the oldest and the newest installed Python (in a thorough check in every one), its wheel, and its calls against a real service. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeBlocksOf } from '../docs/support/code-blocks.ts'
import { PYTHON_SDK, pythons, runPython } from '../support/python.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

setDefaultTimeout(300_000)

const installed = pythons()
const [python] = installed
const byAge = installed.toSorted((a, b) => Number(a.version.slice(2)) - Number(b.version.slice(2)))
const folder = mkdtempSync(join(tmpdir(), 'earshot-python-'))
let server: TestServer
let tenant: TestTenant
let application: TestApplication
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await server.stop()
})

const environment = () => ({
  EARSHOT_URL: server.baseUrl,
  EARSHOT_AGENT_KEY: application.agentKey,
  EARSHOT_SECRET: application.agentSecret,
  EARSHOT_API_KEY: tenant.apiKey,
})

/** The printed JSON of a program. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { code, output, errors } = await runPython(python, args, { env: { ...environment(), ...env } })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return JSON.parse(output)
}

const messagesOf = async (externalSessionId: string) => {
  const list = await server.as(tenant).get('/v3/rest/agent-conversations/sessions?limit=100')
  const { id } = list.body.data.find(
    (one: Record<string, unknown>) => one.externalSessionId === externalSessionId,
  )
  const { body } = await server.as(tenant).get(`/v3/rest/agent-conversations/sessions/${id}`)
  const events: readonly Record<string, unknown>[] = body.events.data
  return { status: body.status, events: events.map(({ type, content }) => [type, content ?? null]) }
}

describe('its own tests', () => {
  const tried = rounds(
    byAge.filter((_, at) => at === 0 || at === byAge.length - 1),
    byAge,
  )
  test.each(tried.map(({ version, path }) => [version, path]))('in Python %s', async (version, path) => {
    const args = ['-W', 'error::ResourceWarning', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests']
    const { code, errors } = await runPython({ path, version }, args)
    expect(code, errors).toBe(0)
    expect(errors).toMatch(/Ran \d{2,} tests/)
  })

  test('the version of the module is that of the package', async () => {
    const [, version] =
      /^version = "(.*)"$/m.exec(readFileSync(join(PYTHON_SDK, 'pyproject.toml'), 'utf8')) ?? []
    const { output } = await runPython(python, ['-c', 'import earshot; print(earshot.__version__)'])
    expect(output.trim()).toBe(version ?? '')
  })
})

test('the lines of the README work in an empty folder with the built wheel', async () => {
  const [install, code] = codeBlocksOf(readFileSync(join(PYTHON_SDK, 'README.md'), 'utf8'))
  const shell = async (text: string) => {
    const child = Bun.spawn(['bash', '-ec', text], {
      cwd: folder,
      env: {
        ...environment(),
        PATH: `${python.path.replace(/\/[^/]+$/, '')}:${process.env.PATH}`,
        HOME: folder,
        // No index is asked: there may be no network.
        PIP_NO_INDEX: '1',
        PIP_DISABLE_PIP_VERSION_CHECK: '1',
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect(await child.exited, output + errors).toBe(0)
    return output + errors
  }
  await shell(`python3 -m pip wheel --quiet --no-deps --wheel-dir . ${PYTHON_SDK}`)
  expect(readdirSync(folder).filter((name) => name.endsWith('.whl'))).toHaveLength(1)
  await shell(install?.text ?? '')
  writeFileSync(join(folder, 'main.py'), code?.text ?? '')
  expect(await shell('.venv/bin/python main.py')).toBe('')
  const typed =
    'import earshot, pathlib; print((pathlib.Path(earshot.__file__).parent / "py.typed").exists())'
  expect(await shell(`.venv/bin/python -c '${typed}'`)).toBe('True\n')
  expect(await messagesOf('chat-1')).toEqual({
    status: 'ended',
    events: [
      ['user_message', 'Where is my invoice?'],
      ['assistant_message', 'Under Billing.'],
      ['feedback', null],
    ],
  })
})

test('ids that the SDK derives are those of the service', async () => {
  const text = JSON.stringify(['Yes.', 'Yes.', 'Grüße 🙂 "quoted"\n\t\u0001 \u2028 end', ' spaces '])
  const code = `
import json, sys
from earshot import Earshot
with Earshot() as earshot:
    earshot.session("ids").sync([{"role": "user", "content": text} for text in json.loads(sys.argv[1])])
print(json.dumps(earshot.stats()))`
  expect(await run(['-c', code, text])).toMatchObject({ sent: 4, failed: 0 })
  const events = JSON.parse(text).map((content: string) => ({ type: 'user_message', content }))
  const body = { agentKey: application.agentKey, externalSessionId: 'ids', events }
  const answer = await server.as(application).post('/v3/rest/agent-conversations/append', body)
  expect(answer.body).toMatchObject({
    acceptedEventCount: 0,
    deduplicatedEventCount: 4,
    revisedEventCount: 0,
  })
})

test('the reader follows cursors, with and without asyncio', async () => {
  const client = server.as(application)
  for (let number = 0; number < 5; number++) {
    const events = [{ type: 'user_message', content: `number ${number}`, externalEventId: 'm' }]
    const body = { agentKey: application.agentKey, externalSessionId: `read-${number}`, events }
    expect((await client.post('/v3/rest/agent-conversations/append', body)).status).toBe(200)
  }
  const code = `
import asyncio, json
from earshot import AsyncReader, EarshotError, Reader
reader = Reader()
names = [one["externalSessionId"] for one in reader.conversations(limit=2)]
async def again():
    return [one["externalSessionId"] async for one in AsyncReader().conversations(limit=2)]
first = next(reader.conversations(limit=1))
lists = [list(one) for one in (reader.signals(), reader.feedback_records(), reader.themes(), reader.recordings(), reader.search("nothing"))]
try:
    reader.conversation("00000000-0000-7000-8000-000000000000")
except EarshotError as error:
    refusal = [error.status, error.code]
print(json.dumps({"names": names, "again": asyncio.run(again()), "events": len(list(reader.events(first["id"], limit=1))), "refusal": refusal}))`
  const said = await run(['-c', code])
  const names = [4, 3, 2, 1, 0].map((number) => `read-${number}`)
  expect(said.names.filter((name: string) => name.startsWith('read-'))).toEqual(names)
  expect(said.again).toEqual(said.names)
  expect(said).toMatchObject({ events: 1, refusal: [404, 'agent_session_not_found'] })
})

test('an interrupted upload goes on where it stopped', async () => {
  const file = join(folder, 'call.wav')
  writeFileSync(
    file,
    new Uint8Array(200_000).map((_, index) => index % 251),
  )
  const code = `
import json, sys
from earshot import Reader
import earshot.upload as upload
upload.PIECE_BYTES = 30_000
reader, seen = Reader(), []
def stop(done, size):
    seen.append(done)
    if done >= 60_000:
        raise KeyboardInterrupt
try:
    reader.upload(sys.argv[1], external_id="call-1", on_progress=stop)
except KeyboardInterrupt:
    pass
again = []
id = reader.upload(sys.argv[1], external_id="call-1", on_progress=lambda done, size: again.append(done))
print(json.dumps({"id": id, "seen": seen, "again": again}))`
  const said = await run(['-c', code, file])
  expect(said.seen).toEqual([0, 30_000, 60_000])
  expect(said.again[0]).toBe(60_000)
  expect(said.again.at(-1)).toBe(200_000)
  const { body } = await server.as(tenant).get(`/v3/rest/recordings/${said.id}`)
  expect(body).toMatchObject({ displayName: 'call', record: { externalId: 'call-1' } })
})
