/** The settings of docs/coding-agents.md, read as the agents read them, with their variables filled in, lead to the tools. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { codeBlocksOf } from '../docs/support/code-blocks.ts'
import { EARSHOT } from '../support/executable.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connectTo, newClient, type ToolClient } from './support.ts'

const ROOT = resolve(import.meta.dir, '../..')
const blocks = codeBlocksOf(readFileSync(resolve(ROOT, 'docs/coding-agents.md'), 'utf8'))

let server: TestServer
let userToken: string
beforeAll(async () => {
  server = await startTestServer()
  ;({ userToken } = await server.createTenant())
})
afterAll(() => server?.stop())

function settings(mark: string): string {
  const block = blocks.find(({ marks }) => marks.includes(mark))
  if (block === undefined) throw new Error(`no settings of ${mark}`)
  return block.text.replaceAll('http://localhost:3000', server.baseUrl)
}

const filledIn = (text: string) => text.replaceAll(/\$\{?EARSHOT_USER_TOKEN\}?/g, userToken)

async function expectTools(client: ToolClient): Promise<void> {
  try {
    expect((await client.tools()).map(({ name }) => name)).toContain('search-customer-voice')
  } finally {
    await client.close()
  }
}

describe('the settings of', () => {
  test('Claude Code', async () => {
    const { type, url, headers } = JSON.parse(filledIn(settings('claude'))).mcpServers.earshot
    expect(type).toBe('http')
    await expectTools(await connectTo('new', { url, headers }, null))
  })

  test('Codex', async () => {
    const { mcp_servers } = Bun.TOML.parse(settings('codex')) as {
      mcp_servers: { earshot: { url: string; bearer_token_env_var: string } }
    }
    const { url, bearer_token_env_var } = mcp_servers.earshot
    expect(bearer_token_env_var).toBe('EARSHOT_USER_TOKEN')
    await expectTools(
      await connectTo('old', { url, headers: { authorization: `Bearer ${userToken}` } }, null),
    )
  })

  test('Gemini CLI', async () => {
    const { httpUrl, headers } = JSON.parse(filledIn(settings('gemini'))).mcpServers.earshot
    await expectTools(await connectTo('old', { url: httpUrl, headers }, null))
  })

  test('a process', async () => {
    const { command, args, env } = JSON.parse(settings('stdio')).mcpServers.earshot
    expect(command).toBe('earshot')
    const [program = '', ...first] = EARSHOT
    const transport = new StdioClientTransport({
      command: program,
      args: [...first, ...args],
      env: { ...env, EARSHOT_USER_TOKEN: userToken },
    })
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await expectTools(await newClient(client, transport, null))
  })
})
