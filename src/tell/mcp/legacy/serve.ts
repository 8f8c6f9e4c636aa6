/**
 * Serves clients before protocol version 2026-07-28.
 *
 * Only a client that can ask its user gets a session; nothing else needs one. Without a session each request stands alone. There is
 * no stream for messages outside of a call, because the service sends none.
 */
import {
  type ClientCapabilities,
  type InitializeRequestParams,
  isInitializeRequest,
  isJSONRPCResponse,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { asksByForm } from '../server.ts'
import { type LegacySessions, type Owner, SESSION_DAYS, type SessionRow } from './sessions.ts'
import { SessionTransport } from './transport.ts'

const SESSION_HEADER = 'mcp-session-id'

export interface LegacyRequest {
  readonly request: Request
  /** Parsed; undefined without a body. */
  readonly body: unknown
  readonly owner: Owner
  /** Whether a call in the body may ask the user. */
  readonly mayAsk: boolean
  /** Called before a question goes out. @throws AppError 503 */
  readonly asks: () => void
  readonly createServer: () => Server
}

export function createLegacyServing(sessions: LegacySessions) {
  return async (call: LegacyRequest): Promise<Response> => {
    const { request, body, owner } = call
    const sessionId = request.headers.get(SESSION_HEADER)
    if (request.method === 'DELETE') return end(sessions, owner, sessionId)
    const session = sessionId === null ? null : await sessions.find(owner, sessionId)
    if (sessionId !== null && session === null) return sessionNotFound()
    if (isJSONRPCResponse(body)) return takeAnswer(sessions, owner, session, body)
    return exchange(sessions, call, session)
  }
}

async function end(sessions: LegacySessions, owner: Owner, id: string | null): Promise<Response> {
  if (id === null) return problem(400, -32_000, 'The request has no Mcp-Session-Id.')
  return (await sessions.end(owner, id)) ? new Response(null, { status: 200 }) : sessionNotFound()
}

async function takeAnswer(
  sessions: LegacySessions,
  owner: Owner,
  session: SessionRow | null,
  message: object,
): Promise<Response> {
  const { jsonrpc: _, id, ...answer } = message as Record<string, unknown>
  if (session !== null) await sessions.answer(owner, session.id, id, answer)
  return new Response(null, { status: 202 })
}

async function exchange(
  sessions: LegacySessions,
  { request, body, owner, mayAsk, asks, createServer }: LegacyRequest,
  session: SessionRow | null,
): Promise<Response> {
  const inner = new WebStandardStreamableHTTPServerTransport({
    // A stream is needed only where a question may come before the result.
    enableJsonResponse: session === null || !mayAsk,
  })
  const transport = new SessionTransport(inner, {
    async ask() {
      asks()
      return sessions.ask(owner, session?.id ?? '')
    },
    answerOf: (id, signal) => sessions.answerOf(owner, id, signal),
  })
  const server = createServer()
  await server.connect(transport)
  const ended = AbortSignal.any([request.signal, sessions.stopping])
  ended.addEventListener('abort', () => void server.close(), { once: true })
  if (session !== null) await transport.replay(session)
  const response = await inner.handleRequest(request, { parsedBody: body })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream) queueMicrotask(() => void server.close())
  if (!isInitializeRequest(body) || !response.ok) return response
  return begun(sessions, owner, response, server, body.params)
}

/** The answer to `initialize`, with the id of a session for a client that can ask its user. */
async function begun(
  sessions: LegacySessions,
  owner: Owner,
  response: Response,
  server: Server,
  { capabilities, protocolVersion }: InitializeRequestParams,
): Promise<Response> {
  if (!asksByForm(capabilities as ClientCapabilities)) return response
  const negotiated = server.getNegotiatedProtocolVersion() ?? protocolVersion
  const { elicitation } = capabilities
  const id = await sessions.start(owner, { protocolVersion: negotiated, capabilities: { elicitation } })
  response.headers.set(SESSION_HEADER, id)
  return response
}

function sessionNotFound(): Response {
  return problem(
    404,
    -32_001,
    `There is no such session. It ends ${SESSION_DAYS} days after its last use: start again.`,
  )
}

function problem(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
