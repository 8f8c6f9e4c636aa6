/** The official conformance suite, for both generations of the protocol. It sends no token, so a proxy adds one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startTestServer, type TestServer } from '../support/server.ts'
import { EXCEPTIONS, type Revision } from './conformance-exceptions.ts'

const SUITE = resolve(import.meta.dir, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

let server: TestServer
let proxy: ReturnType<typeof startProxy>
beforeAll(async () => {
  server = await startTestServer()
  proxy = startProxy((await server.createTenant()).userToken)
})
afterAll(async () => {
  await proxy?.stop(true)
  await server?.stop()
})

function startProxy(userToken: string) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${userToken}`)
      // What arrives is passed on as it is.
      headers.set('accept-encoding', 'identity')
      const { pathname } = new URL(request.url)
      const body = request.method === 'POST' ? await request.arrayBuffer() : null
      return fetch(server.baseUrl + pathname, { method: request.method, headers, body })
    },
  })
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** The checks of a revision by their scenarios. */
async function run(revision: Revision): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-conformance-'))
  try {
    const url = `http://127.0.0.1:${proxy.port}/mcp`
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder]
    const suite = Bun.spawn([process.execPath, SUITE, ...args], { stdout: 'ignore', stderr: 'ignore' })
    // 1: some checks fail; which ones is compared below.
    expect(await suite.exited).toBe(1)
    return new Map(
      readdirSync(folder).map((name) => {
        const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
        return [scenario, JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[]]
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Scenarios that apply to the service, and how many checks of them succeed at least. */
const APPLY: Readonly<Record<Revision, Readonly<Record<string, number>>>> = {
  '2025-11-25': {
    'dns-rebinding-protection': 2,
    ping: 1,
    'server-initialize': 1,
    'server-sse-multiple-streams': 1,
    'tools-list': 2,
  },
  '2026-07-28': {
    caching: 3,
    'dns-rebinding-protection': 2,
    'http-header-validation': 14,
    'input-required-result-unsupported-methods': 2,
    'server-sse-multiple-streams': 1,
    'server-stateless': 23,
    'tools-list': 3,
  },
}

test.each(['2025-11-25', '2026-07-28'] as const)(
  'the suite of %s passes but for the scenarios that need what the service does not offer',
  async (revision) => {
    const scenarios = await run(revision)
    const failures = [...scenarios].flatMap(([scenario, checks]) =>
      checks
        .filter(({ status }) => status === 'FAILURE')
        .map(({ id, errorMessage = '' }) => ({ scenario, check: `${scenario} › ${id}`, errorMessage })),
    )
    const allowed = EXCEPTIONS.filter(({ revisions }) => revisions.includes(revision)).flatMap(
      (e) => e.checks,
    )
    const covers = (exception: string, failure: (typeof failures)[number]) =>
      exception === failure.scenario || exception === failure.check
    expect(failures.filter((failure) => !allowed.some((one) => covers(one, failure)))).toEqual([])
    // An exception that is not needed any more goes.
    expect(allowed.filter((one) => !failures.some((failure) => covers(one, failure)))).toEqual([])
    for (const [scenario, count] of Object.entries(APPLY[revision])) {
      const passed = scenarios.get(scenario)?.filter(({ status }) => status === 'SUCCESS').length ?? 0
      expect([scenario, passed >= count || passed]).toEqual([scenario, true])
    }
  },
  60_000,
)
