/** The operations that read stored conversations and signals. They parse requests, call the service and shape the answers. */

import { type Static, Type } from '@sinclair/typebox'
import { recorded } from '../../../access/audit/change.ts'
import { analysisOf, unreadSession } from '../../../analysis/findings/coverage.rules.ts'
import { noContent, type Operation, ok, operation } from '../../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../../http/paging.ts'
import { moment, uuidOf } from '../../../http/parameters.ts'
import type { Principal } from '../../../kernel/principal.ts'
import { AppError } from '../../../platform/errors.ts'
import { isStorableText } from '../../../platform/validation/json.ts'
import type { EventRow, RevisionRow } from './events.store.ts'
import { EventPageQuery, EventRevision, Session, SessionQuery, SessionWithEvents } from './model.ts'
import type { Conversations } from './service.ts'
import { orderOfSessions } from './sessions.rules.ts'
import type { SessionRow } from './sessions.store.ts'
import { Signal, SignalQuery } from './signal.model.ts'
import type { SignalRow } from './signal.ts'
import { orderOfSignals, type SignalFilter, signalResource } from './signals.rules.ts'
import type { Reader } from './visible.store.ts'

const SESSIONS = '/v3/rest/agent-conversations/sessions'
const SIGNALS = '/v3/rest/signals'

const sessionOrders = {
  startedMoment: keyset('agent_sessions_by_beginning', ['moment', 'uuid']),
  createdMoment: keyset('agent_sessions_by_arrival', ['moment', 'uuid']),
}
const eventOrder = keyset('agent_events', ['integer'])
const revisionOrder = keyset('agent_event_revisions', ['integer'])
const signalOrders = {
  createdMoment: keyset('signals', ['moment', 'uuid']),
  occurredMoment: keyset('signals_by_occurrence', ['moment', 'uuid']),
}
const sessionSignalOrder = keyset('session_signals', ['integer', 'uuid'])

const ACCESS_NOTE =
  'A user sees the conversations of applications whose conversation access is workspace-wide or names the user; ' +
  'the organization key sees all.'

type Reading = Extract<Principal, { kind: 'organization' | 'user' }>

const readerOf = (principal: Reading): Reader => ({
  organizationId: principal.organizationId,
  userId: principal.kind === 'user' ? principal.userId : null,
})

/** Everything under `/v3/rest/agent-conversations/sessions` and `/v3/rest/signals`. */
export function conversationOperations(conversations: Conversations): readonly Operation[] {
  return [
    ...sessionOperations(conversations),
    revisionsOperation(conversations),
    ...signalOperations(conversations),
  ]
}

function sessionOperations(conversations: Conversations): readonly Operation[] {
  return [
    operation({
      id: 'listAgentSessions',
      method: 'GET',
      path: SESSIONS,
      tag: 'Agent conversations',
      summary: 'List sessions',
      description: `Newest first, by \`startedAt\`; with \`createdAfter\` or \`createdBefore\` alone, by \`createdAt\`. ${ACCESS_NOTE}`,
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'agent_session.listed' },
      query: SessionQuery,
      success: { status: 200, description: 'A page of sessions', schema: pageOf(Session) },
      async handler({ principal, query }) {
        const { limit, cursor, since, until, createdAfter, createdBefore, ...rest } = query()
        const filter = {
          ...rest,
          began: { since: moment('since', since), until: moment('until', until) },
          created: {
            since: moment('createdAfter', createdAfter),
            until: moment('createdBefore', createdBefore),
          },
        }
        const moments = orderOfSessions(filter)
        const order = sessionOrders[moments]
        const slice = { after: order.decode(cursor), limit }
        const { rows, end } = await conversations.sessions(readerOf(principal), filter, slice)
        const next = (row: SessionRow) => order.encode([row[moments], row.id])
        return ok(toPage(rows, limit, next, session, end && order.encode(end)))
      },
    }),
    operation({
      id: 'getAgentSession',
      method: 'GET',
      path: `${SESSIONS}/{sessionId}`,
      params: { sessionId: uuidOf('session') },
      tag: 'Agent conversations',
      summary: 'Read a session and its events',
      description:
        'The session with one page of its events in the order of `sequence`; `events.next_cursor` leads to the next ' +
        `page. A page of large events ends after about 2 MiB. Events are in their newest revision, sanitised by the settings of the application. ${ACCESS_NOTE}`,
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'agent_session.read', object: 'sessionId' },
      query: EventPageQuery,
      success: {
        status: 200,
        description: 'The session and a page of its events',
        schema: SessionWithEvents,
      },
      errors: ['agent_session_not_found'],
      async handler({ principal, id, query }) {
        const reader = readerOf(principal)
        const found = await conversations.session(reader, id('sessionId', 'agent_session_not_found'))
        const { limit, cursor } = query()
        const slice = { after: eventOrder.decode(cursor), limit }
        const { rows, endsEarly } = await conversations.events(reader, found.id, slice)
        const cursorAfter = (row: EventRow) => eventOrder.encode([row.sequence])
        const events = toPage(rows, limit, cursorAfter, event, endsEarly ? endOf(rows, cursorAfter) : null)
        return ok({ ...session(found), events })
      },
    }),
    operation({
      id: 'deleteAgentSession',
      method: 'DELETE',
      path: `${SESSIONS}/{sessionId}`,
      params: { sessionId: uuidOf('session') },
      tag: 'Agent conversations',
      summary: 'Delete a session',
      description:
        'Removes the session with its events, revisions and signals. Units already metered stay metered. ' +
        'Sending the same `externalSessionId` again starts a new session.',
      access: 'organizationOrUser',
      role: 'administrator',
      success: { status: 204, description: 'The session is gone' },
      errors: ['agent_session_not_found'],
      async handler(call) {
        const id = call.id('sessionId', 'agent_session_not_found')
        const also = recorded(call, 'agent_session.deleted', () => id)
        await conversations.deleteSession(readerOf(call.principal), id, also)
        return noContent()
      },
    }),
  ]
}

function revisionsOperation(conversations: Conversations): Operation {
  return operation({
    id: 'listAgentEventRevisions',
    method: 'GET',
    path: `${SESSIONS}/{sessionId}/events/{externalEventId}/revisions`,
    params: {
      sessionId: uuidOf('session'),
      externalEventId: Type.String({ description: 'The `externalEventId` that the event was sent with.' }),
    },
    tag: 'Agent conversations',
    summary: 'List the revisions of an event',
    description: `Oldest first; the last one is the event as it is now. A page of large ones ends after about 2 MiB. ${ACCESS_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'agent_session.read', object: 'sessionId' },
    query: EventPageQuery,
    success: { status: 200, description: 'A page of revisions', schema: pageOf(EventRevision) },
    errors: ['agent_session_not_found', 'agent_event_not_found'],
    async handler({ principal, id, param, query }) {
      const reader = readerOf(principal)
      const { id: sessionId } = await conversations.session(
        reader,
        id('sessionId', 'agent_session_not_found'),
      )
      const eventId = param('externalEventId')
      if (!isStorableText(eventId)) throw eventNotFound()
      // The first page of revisions shows whether the event exists: 404 comes before errors of the query (400).
      const known = await conversations.revisions(reader, sessionId, eventId, { after: null, limit: 0 })
      if (known.rows.length === 0) throw eventNotFound()
      const { limit, cursor } = query()
      const slice = { after: revisionOrder.decode(cursor), limit }
      const { rows, endsEarly } = await conversations.revisions(reader, sessionId, eventId, slice)
      const cursorAfter = (row: RevisionRow) => revisionOrder.encode([row.revision])
      return ok(toPage(rows, limit, cursorAfter, revision, endsEarly ? endOf(rows, cursorAfter) : null))
    },
  })
}

/** The cursor after the last row. */
function endOf<R>(rows: readonly R[], cursorAfter: (row: R) => string): string | null {
  const last = rows.at(-1)
  return last === undefined ? null : cursorAfter(last)
}

function eventNotFound(): AppError {
  return new AppError('agent_event_not_found', 'There is no such event in this session.')
}

function signalOperations(conversations: Conversations): readonly Operation[] {
  return [
    operation({
      id: 'listSignals',
      method: 'GET',
      path: SIGNALS,
      tag: 'Signals',
      summary: 'List signals',
      description:
        'Feedback that was given explicitly on responses of an agent (`explicit_feedback`), and findings in conversations, feedback ' +
        'records and recordings (`qualitative_inference`). Findings of a kind that is not precise enough are left out. Newest first, by ' +
        '`createdAt`; by `occurredAt` where only `since` or `until` bounds the list, and with `personId`; with `sessionId` in the order of ' +
        `\`sequence\`. ${ACCESS_NOTE} A caller sees the findings of the recordings that the caller sees.`,
      access: 'organizationOrUser',
      role: 'viewer',
      query: SignalQuery,
      success: { status: 200, description: 'A page of signals', schema: pageOf(Signal) },
      async handler({ principal, query }) {
        const { limit, cursor, sessionId, ...asked } = query()
        const filter = filterOf(asked)
        if (sessionId === undefined) {
          const moments = orderOfSignals(filter)
          const order = signalOrders[moments]
          const slice = { after: order.decode(cursor), limit }
          const { rows, end } = await conversations.signals(principal, filter, slice)
          const next = (row: SignalRow) => order.encode([row[moments], row.id])
          return ok(toPage(rows, limit, next, signalResource, end && order.encode(end)))
        }
        const slice = { after: sessionSignalOrder.decode(cursor), limit }
        const rows = await conversations.signalsOfSession(principal, sessionId, filter, slice)
        const next = (row: SignalRow) => sessionSignalOrder.encode([row.sequence ?? 0, row.id])
        return ok(toPage(rows, limit, next, signalResource))
      },
    }),
    operation({
      id: 'getSignal',
      method: 'GET',
      path: `${SIGNALS}/{signalId}`,
      params: { signalId: uuidOf('signal') },
      tag: 'Signals',
      summary: 'Read a signal',
      description: `${ACCESS_NOTE} A caller sees the findings of the recordings that the caller sees.`,
      access: 'organizationOrUser',
      role: 'viewer',
      query: Type.Object({}),
      success: { status: 200, description: 'The signal', schema: Signal },
      errors: ['agent_signal_not_found'],
      async handler({ principal, id, query }) {
        const found = await conversations.signal(principal, id('signalId', 'agent_signal_not_found'))
        query()
        return ok(signalResource(found))
      },
    }),
  ]
}

function session({ watermark, startedMoment: _, createdMoment: __, subject, ...row }: SessionRow) {
  return {
    ...row,
    analysis: analysisOf(subject, unreadSession(row.processingStatus)),
    processedThroughSequence: watermark < 0 ? null : watermark,
  }
}

function event({ body, createdAt, updatedAt, ...row }: EventRow) {
  return { ...row, ...body, createdAt, updatedAt }
}

function revision({ body, createdAt, replacedAt, ...row }: RevisionRow) {
  return { ...row, ...body, createdAt, replacedAt }
}

type Asked = Omit<Static<typeof SignalQuery>, 'limit' | 'cursor' | 'sessionId'>

function filterOf({
  since,
  until,
  createdAfter,
  createdBefore,
  recordId,
  shown,
  ...rest
}: Asked): SignalFilter {
  return {
    ...rest,
    occurred: { since: moment('since', since), until: moment('until', until) },
    created: { since: moment('createdAfter', createdAfter), until: moment('createdBefore', createdBefore) },
    recordId: recordId === undefined ? undefined : Number(recordId),
    shown: shown !== 'false',
  }
}
