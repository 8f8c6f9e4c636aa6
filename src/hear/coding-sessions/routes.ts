/** Operations on coding-agent sessions. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import type { Config } from '../../kernel/config.ts'
import {
  CodingSession,
  CodingSessionEvent,
  CodingSessionEventQuery,
  CodingSessionQuery,
  CodingSessionResult,
  MAX_BODY_BYTES,
  UploadCodingSession,
} from './model.ts'
import { type CodingSessions, type EventRow, type SessionRow, usageOf } from './service.ts'

import { sessionUploadOperations } from './upload-routes.ts'
import type { SessionUploads } from './uploads.ts'

const SESSIONS = '/v3/rest/coding-sessions'
const SESSION = `${SESSIONS}/{codingSessionId}`
const TAG = 'Coding-agent sessions'

const order = keyset('coding_sessions', ['integer', 'uuid'])
const eventOrder = keyset('coding_session_events', ['integer', 'uuid'])

const ACCESS_NOTE =
  'A user sees the sessions that the user uploaded, and those uploaded with a key of the organization; a key sees the latter.'

const params = { codingSessionId: uuidOf('session') }

/** Everything under `/v3/rest/coding-sessions`. */
export function codingSessionOperations(
  sessions: CodingSessions,
  uploads: SessionUploads,
  config: Pick<Config, 'publicBaseUrl'>,
): readonly Operation[] {
  return [
    uploadSession(sessions),
    ...sessionUploadOperations(uploads, config),
    listSessions(sessions),
    getSession(sessions),
    listEvents(sessions),
    deleteSession(sessions),
  ]
}

const uploadSession = (sessions: CodingSessions) =>
  operation({
    id: 'uploadCodingSession',
    method: 'POST',
    path: SESSIONS,
    tag: TAG,
    summary: 'Upload a session',
    description: [
      'Stores a session of a coding agent: normalised `events`, or the text of its file as `jsonl`, or the `uploadId` of a file that was uploaded before. State exactly one of them.',
      '',
      'Events have deterministic ids. The same file twice adds nothing, and a longer version of it adds what is new. Keys, tokens',
      `and whatever the redaction rules of the organization's agent applications name are redacted. The request has at most ${MAX_BODY_BYTES / 1024 ** 2} MiB.`,
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'analyst',
    body: UploadCodingSession,
    maxBodyBytes: MAX_BODY_BYTES,
    example: {
      format: 'normalized',
      agent: 'my-agent',
      externalSessionId: 'session-1',
      title: 'Fix the login form',
      events: [
        { id: '1', role: 'user', text: 'The login form rejects long passwords.' },
        { id: '2', role: 'assistant', text: 'Fixed.', usage: { inputTokens: 120, outputTokens: 8 } },
      ],
    },
    success: { status: 201, description: 'The session after the upload', schema: CodingSessionResult },
    errors: [
      'coding_session_empty',
      'request_too_costly',
      'coding_session_not_found',
      'coding_session_upload_not_found',
      'coding_session_upload_not_ready',
      'coding_session_upload_failed',
    ],
    async handler({ principal, body }) {
      const result = await sessions.upload(principal, await body())
      return created(`${SESSIONS}/${result.sessionId}`, result)
    },
  })

const listSessions = (sessions: CodingSessions) =>
  operation({
    id: 'listCodingSessions',
    method: 'GET',
    path: SESSIONS,
    tag: TAG,
    summary: 'List sessions',
    description: `Newest first. ${ACCESS_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'coding_session.listed' },
    query: CodingSessionQuery,
    success: { status: 200, description: 'A page of sessions', schema: pageOf(CodingSession) },
    async handler({ principal, query }) {
      const { limit, cursor, agent } = query()
      const rows = await sessions.list(principal, { after: order.decode(cursor), limit }, agent ?? null)
      const next = (row: SessionRow) => order.encode([row.createdMicroseconds, row.id])
      return ok(toPage(rows, limit, next, session))
    },
  })

const getSession = (sessions: CodingSessions) =>
  operation({
    id: 'getCodingSession',
    method: 'GET',
    path: SESSION,
    params,
    tag: TAG,
    summary: 'Read a session',
    description: ACCESS_NOTE,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'coding_session.read', object: 'codingSessionId' },
    query: Type.Object({}),
    success: { status: 200, description: 'The session', schema: CodingSession },
    errors: ['coding_session_not_found'],
    async handler({ principal, id, query }) {
      const row = await sessions.get(principal, id('codingSessionId', 'coding_session_not_found'))
      query()
      return ok(session(row))
    },
  })

const listEvents = (sessions: CodingSessions) =>
  operation({
    id: 'listCodingSessionEvents',
    method: 'GET',
    path: `${SESSION}/events`,
    params,
    tag: TAG,
    summary: 'List events of a session',
    description: `In the order of the session. ${ACCESS_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'coding_session.read', object: 'codingSessionId' },
    query: CodingSessionEventQuery,
    success: { status: 200, description: 'A page of events', schema: pageOf(CodingSessionEvent) },
    errors: ['coding_session_not_found'],
    async handler({ principal, id, query }) {
      let limit = 0
      const rows = await sessions.events(principal, id('codingSessionId', 'coding_session_not_found'), () => {
        const page = query()
        limit = page.limit
        return { after: eventOrder.decode(page.cursor), limit }
      })
      return ok(toPage(rows, limit, (row) => eventOrder.encode([row.position, row.id]), event))
    },
  })

const deleteSession = (sessions: CodingSessions) =>
  operation({
    id: 'deleteCodingSession',
    method: 'DELETE',
    path: SESSION,
    params,
    tag: TAG,
    summary: 'Delete a session',
    description: `Deletes the session and its events. ${ACCESS_NOTE}`,
    access: 'organizationOrUser',
    role: 'analyst',
    success: { status: 204, description: 'The session is deleted' },
    errors: ['coding_session_not_found'],
    async handler(call) {
      const id = call.id('codingSessionId', 'coding_session_not_found')
      const also = recorded(call, 'coding_session.deleted', () => id)
      await sessions.remove(call.principal, id, also)
      return noContent()
    },
  })

function session(row: SessionRow) {
  return {
    sessionId: row.id,
    externalSessionId: row.externalSessionId,
    title: row.title,
    repo: row.repo,
    branch: row.branch,
    commit: row.commit,
    agent: row.agent,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    eventCount: row.eventCount,
    messages: row.messages,
    fileEdits: row.fileEdits,
    toolCalls: row.toolCalls,
    usage: usageOf(row),
    skippedLines: row.skippedLines,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

function event({ body, ...row }: EventRow) {
  return {
    id: row.id,
    kind: row.kind,
    role: row.role,
    occurredAt: row.occurredAt,
    model: row.model,
    sidechain: row.sidechain,
    inherited: row.inherited,
    undone: row.undone,
    text: body.text ?? null,
    reasoning: body.reasoning ?? null,
    toolCalls: body.toolCalls ?? [],
    toolCallId: body.toolCallId ?? null,
    isError: body.isError ?? false,
    usage: usageOf(row),
  }
}
