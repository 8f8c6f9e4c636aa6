/**
 * Serves the Model Context Protocol with the official SDK. This file and those that it imports are loaded after the start,
 * because the SDK takes a while to load.
 */
import { createMcpHandler, isJSONRPCRequest, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Config } from '../../kernel/config.ts'
import type { UserPrincipal } from '../../kernel/principal.ts'
import type { Sql } from '../../platform/db/pool.ts'
import type { Log } from '../../platform/observability/log.ts'
import { createApprovals } from './approval.ts'
import { createLegacyServing } from './legacy/serve.ts'
import type { LegacySessions } from './legacy/sessions.ts'
import { MAX_OPEN_CALLS } from './limits.ts'
import { type Caller, createServers } from './server.ts'
import type { Tool } from './tools/tool.ts'

const ANY_TYPE = '*/*'
const BOTH_TYPES = 'application/json, text/event-stream'

export interface ServingParts {
  readonly config: Pick<Config, 'dataDir' | 'secretKey'>
  readonly sql: Sql
  readonly tools: readonly Tool[]
  readonly sessions: LegacySessions
  readonly log: Log
}

export interface ToolRequest {
  readonly request: Request
  /** Parsed; undefined for DELETE. */
  readonly body: unknown
  readonly principal: UserPrincipal
  readonly requestId: string
  /** Called when the call begins to wait for its user over an open stream. @throws AppError 503 */
  readonly asks: () => void
}

export interface Serving {
  /** Whether the body calls a tool that changes something. */
  changes(body: unknown): boolean
  /** Whether the body calls a tool that may wait for a model server. */
  isSlow(body: unknown): boolean
  serve(call: ToolRequest): Promise<Response>
  /** Ends streams that clients hold open. */
  close(): Promise<void>
}

export async function createServing({ config, sql, tools, sessions, log }: ServingParts): Promise<Serving> {
  const changing = new Set(tools.filter((tool) => tool.changes).map(({ name }) => name))
  const slow = new Set(tools.filter((tool) => tool.isSlow === true).map(({ name }) => name))
  const createServer = createServers({ tools, log, approvals: await createApprovals({ config, sql }) })
  const current = createMcpHandler(({ authInfo }) => createServer(authInfo?.extra as unknown as Caller), {
    legacy: 'reject',
    // Streams that stay open for changes of the list of tools, of which there are none. They are open calls, whose shares bound them.
    maxSubscriptions: MAX_OPEN_CALLS,
    onerror: (error) => log.debug({ err: error }, 'refused a request to the tools'),
  })
  const legacy = createLegacyServing(sessions)
  const calls = (body: unknown, names: ReadonlySet<string>) =>
    (Array.isArray(body) ? body : [body]).some(
      (message) =>
        isJSONRPCRequest(message) &&
        message.method === 'tools/call' &&
        names.has(String((message.params as Record<string, unknown> | undefined)?.name)),
    )
  const changes = (body: unknown) => calls(body, changing)
  return {
    changes,
    isSlow: (body) => calls(body, slow),
    close: () => current.close(),
    async serve({ request: sent, body, principal, requestId, asks }) {
      const request = acceptingBoth(sent)
      const caller = { principal, requestId }
      if (request.method === 'DELETE' || (await isLegacyRequest(request, body)))
        return legacy({
          request,
          body,
          owner: principal,
          mayAsk: changes(body),
          asks,
          createServer: () => createServer(caller),
        })
      const authInfo = {
        token: '',
        clientId: principal.userId,
        scopes: [],
        extra: caller as unknown as Record<string, unknown>,
      }
      return current.fetch(request, { parsedBody: body, authInfo })
    },
  }
}

/** The SDK looks for the names of both media types. No header, and a range of all types, accept them, too (RFC 9110 section 12.5.1). */
function acceptingBoth(request: Request): Request {
  const ranges = request.headers.get('accept')?.split(',') ?? [ANY_TYPE]
  if (!ranges.some((range) => range.split(';')[0]?.trim() === ANY_TYPE)) return request
  const headers = new Headers(request.headers)
  headers.set('accept', BOTH_TYPES)
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}
