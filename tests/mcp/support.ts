/** The official clients of both generations, connected to a test server. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { EARSHOT } from '../support/executable.ts'

type Action = 'accept' | 'decline' | 'cancel'

/** What a tool answered. */
interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is for the test to judge
  readonly structured: any
}

/** One client of either generation. */
export interface ToolClient {
  readonly asked: string[]
  /** Negotiated version of the protocol. */
  readonly version: string | undefined
  tools(): Promise<readonly ListedTool[]>
  call(name: string, args: object): Promise<ToolAnswer>
  close(): Promise<void>
}

interface ListedTool {
  readonly name: string
  readonly description?: string | undefined
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
  readonly inputSchema: object
  readonly outputSchema?: object | undefined
}

/** What the user does with a question; null: the client cannot ask. */
export type User = Action | null

export interface Address {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type Generation = 'new' | 'old'
export const GENERATIONS: readonly Generation[] = ['new', 'old']

const INFO = { name: 'test', version: '1' }
const capabilities = (user: User) => ({ capabilities: user === null ? {} : { elicitation: { form: {} } } })

export function connectTo(generation: Generation, to: Address, user: User): Promise<ToolClient> {
  return generation === 'new' ? connectNew(to, user) : connectOld(to, user)
}

/** `earshot mcp` with these variables. */
export function mcpProcess(env: Readonly<Record<string, string>>) {
  const [command = '', ...args] = EARSHOT
  return { command, args: [...args, 'mcp'], env: { ...env } }
}

/** A client that starts `process` and talks to it on its standard input and output. */
export function connectByStdio(
  generation: Generation,
  process: ReturnType<typeof mcpProcess>,
  user: User,
): Promise<ToolClient> {
  const offered = { capabilities: user === null ? {} : { elicitation: {} } }
  return generation === 'new'
    ? newClient(
        new Client(INFO, { ...offered, versionNegotiation: { mode: 'auto' } }),
        new StdioClientTransport(process),
        user,
      )
    : oldClient(new OldClient(INFO, offered), new OldStdioTransport(process), user)
}

async function connectNew({ url, headers }: Address, user: User): Promise<ToolClient> {
  const client = new Client(INFO, { ...capabilities(user), versionNegotiation: { mode: 'auto' } })
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  return newClient(client, transport, user)
}

export async function newClient(
  client: Client,
  transport: Parameters<Client['connect']>[0],
  user: User,
): Promise<ToolClient> {
  const asked: string[] = []
  if (user !== null)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message)
      return user === 'accept' ? { action: user, content: {} } : { action: user }
    })
  await client.connect(transport)
  return {
    asked,
    version: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools as readonly ListedTool[],
    call: async (name, args) => answerOf(await client.callTool({ name, arguments: { ...args } })),
    close: () => client.close(),
  }
}

async function connectOld({ url, headers }: Address, user: User): Promise<ToolClient> {
  const transport = new OldTransport(new URL(url), { requestInit: { headers } })
  return oldClient(new OldClient(INFO, capabilities(user)), transport, user)
}

export async function oldClient(
  client: OldClient,
  transport: Parameters<OldClient['connect']>[0],
  user: User,
): Promise<ToolClient> {
  const asked: string[] = []
  if (user !== null)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message)
      return user === 'accept' ? { action: user, content: {} } : { action: user }
    })
  await client.connect(transport)
  const { protocolVersion } = transport as { protocolVersion?: string }
  return {
    asked,
    version: protocolVersion,
    tools: async () => (await client.listTools()).tools as readonly ListedTool[],
    call: async (name, args) => answerOf(await client.callTool({ name, arguments: { ...args } })),
    close: () => client.close(),
  }
}

function answerOf(result: unknown): ToolAnswer {
  const {
    isError = false,
    content,
    structuredContent,
  } = result as {
    isError?: boolean
    content: { text: string }[]
    structuredContent?: unknown
  }
  return { isError, text: content[0]?.text ?? '', structured: structuredContent }
}
