/** The operation `GET /v3/rest/stream`. */
import { Type } from '@sinclair/typebox'
import type { Caller } from '../../http/auth.ts'
import { type Operation, operation } from '../../http/operation.ts'
import type { Principal } from '../../kernel/principal.ts'
import { uuid } from '../../platform/validation/schema.ts'
import { StreamEvent } from './model.ts'
import { type EventStream, MOST_STREAMS } from './service.ts'

const MEDIA_TYPE = 'text/event-stream'
const PATH = '/v3/rest/stream'
const ACCESS = { access: 'organizationOrUser', role: 'viewer', organizationInQuery: true } as const

const EXAMPLE = `: earshot
retry: 3000

event: ready
id: 41.5f0c2a9e
data: {"id":"41.5f0c2a9e","type":"ready","occurredAt":"2026-01-02T03:04:05.678Z"}

event: signal.created
id: 42.5f0c2a9e
data: {"id":"42.5f0c2a9e","type":"signal.created","occurredAt":"2026-01-02T03:04:06.123Z","signalId":"0199a1b2-0000-7000-8000-000000000001"}

`

/** Authenticates the request once more. @throws AppError 401, 403 */
export type Readmit = (request: Request, operation: typeof ACCESS) => Promise<Caller | null>

export function eventStreamOperations(stream: EventStream, readmit: Readmit): readonly Operation[] {
  return [
    operation({
      ...ACCESS,
      id: 'stream',
      method: 'GET',
      path: PATH,
      tag: 'Insight',
      summary: 'Follow what changes',
      description:
        'Server-sent events (HTML Standard, section 9.2) about new sessions, shown signals, feedback records and the states of recordings that ' +
        'the caller may see. An event has the ids of what changed; read the rest from the API. Load what you show at `ready`, which comes ' +
        'first. Send the id of the last event as `Last-Event-ID` to go on behind it, at any process; browsers do this by themselves. ' +
        'An event `reset` tells that events are lost, because the id is older than about an hour: load everything again. ' +
        'A comment comes every 15 seconds without events. The credential and the rules of access are checked for every event. A client that ' +
        `reads nothing for 30 seconds is disconnected. An organization has at most ${MOST_STREAMS.ofOrganization} streams a process.`,
      query: Type.Object({
        organization: Type.Optional(
          uuid('Organization of a user who belongs to several. The header of the same purpose goes first.'),
        ),
      }),
      success: {
        status: 200,
        description: 'Events until the client disconnects. The schema is that of the data of one event',
        schema: StreamEvent,
        texts: { [MEDIA_TYPE]: EXAMPLE },
      },
      errors: ['too_many_streams', 'streams_full'],
      async handler({ request, principal, query }) {
        query()
        const headers = { 'x-accel-buffering': 'no' }
        if (request.method === 'HEAD')
          return { status: 200, text: { mediaType: MEDIA_TYPE, content: '' }, headers }
        // The request itself is not read after its answer has begun.
        const credentials = new Request(request.url, { headers: new Headers(request.headers) })
        const content = stream.open(
          { viewer: principal, isAdmitted: () => isSame(readmit(credentials, ACCESS), principal) },
          request.headers.get('last-event-id'),
        )
        return { status: 200, stream: { mediaType: MEDIA_TYPE, content }, headers }
      },
    }),
  ]
}

/** Whether a credential still stands for the same caller. Every role may read. */
async function isSame(again: Promise<Caller | null>, before: Principal): Promise<boolean> {
  const now = await again.catch(() => null)
  const userOf = (one: Principal) => (one.kind === 'user' ? one.userId : null)
  return (
    now !== null &&
    now.kind !== 'person' &&
    now.kind === before.kind &&
    now.organizationId === before.organizationId &&
    userOf(now) === userOf(before)
  )
}
