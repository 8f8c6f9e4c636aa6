/** `earshot mcp` as a process, with the official clients of both generations. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { connectByStdio, GENERATIONS, type Generation, mcpProcess, type User } from './support.ts'

let server: TestServer
let tenant: TestTenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
})
afterAll(() => server?.stop())

const processOf = (env: Record<string, string>) => mcpProcess({ EARSHOT_URL: server.baseUrl, ...env })

const connect = (generation: Generation, user: User, token = tenant.userToken) =>
  connectByStdio(generation, processOf({ EARSHOT_USER_TOKEN: token }), user)

describe.each(GENERATIONS)('a client of the %s generation', (generation) => {
  test('lists the tools and calls them; its user approves', async () => {
    const client = await connect(generation, 'accept')
    try {
      if (generation === 'new') expect(client.version).toBe('2026-07-28')
      expect((await client.tools()).map(({ name }) => name)).toContain('upload-agent-session')
      const name = `Größe ${newId()}`
      const [first, second] = await Promise.all([
        client.call('create-project', { name }),
        client.call('get-project', { publicId: newId() }),
      ])
      expect(first.structured).toMatchObject({ name })
      expect(second).toMatchObject({ isError: true })
      expect(client.asked).toEqual([`Create the project “${name}” in Earshot?`])
    } finally {
      await client.close()
    }
  })

  test('whose user declines changes nothing', async () => {
    const client = await connect(generation, 'decline')
    try {
      const answer = await client.call('create-project', { name: newId() })
      expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/^declined: /) })
    } finally {
      await client.close()
    }
  })

  test('with a wrong token is told so', async () => {
    const error = await connect(generation, null, 'wrong').then(
      () => null,
      (reason: Error) => reason.message,
    )
    expect(error).toContain('The access token is not valid.')
  })
})

test('a session that the service has forgotten is started again', async () => {
  const client = await connect('old', 'accept')
  try {
    await client.call('create-project', { name: newId() })
    await server.database.sql`delete from mcp_session`
    const name = newId()
    expect((await client.call('create-project', { name })).structured).toMatchObject({ name })
    expect(client.asked).toHaveLength(2)
  } finally {
    await client.close()
  }
})

describe('the process', () => {
  const run = async (env: Record<string, string>, input: string) => {
    const { command, args, env: variables } = processOf(env)
    const child = Bun.spawn([command, ...args], {
      env: variables,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    child.stdin.write(input)
    await child.stdin.flush()
    return child
  }

  test('ends with its input', async () => {
    const child = await run({ EARSHOT_USER_TOKEN: tenant.userToken }, '')
    child.stdin.end()
    expect(await child.exited).toBe(0)
    expect(await child.stdout.text()).toBe('')
  })

  test('answers what was asked before its input ended, also in the session of an older client', async () => {
    const name = newId()
    const request = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
    const call = (id: number, tool: string, input: object) =>
      request(id, 'tools/call', { name: tool, arguments: input })
    const clientInfo = { name: 'pipe', version: '1' }
    const child = await run(
      { EARSHOT_USER_TOKEN: tenant.userToken },
      [
        request(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }),
        `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`,
        request(2, 'tools/list', {}),
        call(3, 'create-project', { name, userApproved: true }),
        call(4, 'get-project', { publicId: newId() }),
      ].join(''),
    )
    child.stdin.end()
    const answers = (await child.stdout.text()).trim().split('\n')
    expect(await child.exited).toBe(0)
    const byId = new Map(answers.map((line) => JSON.parse(line)).map((answer) => [answer.id, answer]))
    expect([...byId.keys()].sort()).toEqual([1, 2, 3, 4])
    expect(byId.get(3).result.structuredContent).toMatchObject({ name })
    expect(byId.get(4).result.isError).toBe(true)
  })

  test('answers lines that are no JSON, and requests to a service that is away', async () => {
    const child = await run(
      { EARSHOT_USER_TOKEN: 'x', EARSHOT_URL: 'http://127.0.0.1:1' },
      'no JSON\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
    )
    const lines: string[] = []
    let text = ''
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk)
      lines.splice(0, lines.length, ...text.trim().split('\n'))
      if (lines.length === 2) break
    }
    child.stdin.end()
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'A line is not JSON.' } },
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32_603, message: expect.stringContaining('http://127.0.0.1:1 does not answer') },
      },
    ])
    expect(await child.exited).toBe(0)
  })

  test('needs a user token', async () => {
    const child = await run({}, '')
    expect(await child.exited).toBe(2)
    expect(await child.stderr.text()).toContain('EARSHOT_USER_TOKEN')
  })
})
