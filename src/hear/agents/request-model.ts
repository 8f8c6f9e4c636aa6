/** Wire shapes of the requests of ingestion and their answers (specification, "Agent conversation ingest request"; contract of append). */
import { type Static, Type } from '@sinclair/typebox'
import { count, described, ignoredMembers, named, oneOf, uuid } from '../../platform/validation/schema.ts'
import {
  AppendEvent,
  Context,
  Event,
  identifier,
  label,
  MAX_EVENTS_PER_REQUEST,
  MAX_PARTICIPANTS_PER_REQUEST,
  MAX_PARTICIPANTS_PER_SESSION,
  Participant,
  PROCESSING_STATUSES,
  SESSION_STATUSES,
} from './model.ts'

/** The members of a request beside its events. */
const sessionMembers = {
  agentKey: identifier('Key of the application.'),
  externalSessionId: identifier('The caller’s id of the session, unique in its application.'),
  status: Type.Optional(
    oneOf(
      SESSION_STATUSES,
      'Unless given, a new session is `open` and a known one stays as it is. `ended` and `abandoned` are final.',
    ),
  ),
  agentVersion: Type.Optional(label('Version of the agent.')),
  source: Type.Optional(
    Type.Object(
      {
        sdk: Type.Optional(label('Name of the library.')),
        version: Type.Optional(label('Version of the library.')),
      },
      { description: 'What sends the events.' },
    ),
  ),
  context: Type.Optional(described(Context, 'Where in the product the session takes place.')),
  participants: Type.Optional(
    Type.Array(Participant, {
      maxItems: MAX_PARTICIPANTS_PER_REQUEST,
      description: `At most ${MAX_PARTICIPANTS_PER_REQUEST}, added to those of the session, which has at most ${MAX_PARTICIPANTS_PER_SESSION} of them.`,
    }),
  ),
}

/** The rules bound the number and the size of events, not this schema, so that violations get their own stable error codes. */
export const IngestRequest = named(
  'AgentIngestRequest',
  Type.Object({
    ...sessionMembers,
    events: Type.Array(Event, {
      minItems: 1,
      description: `1 to ${MAX_EVENTS_PER_REQUEST} events, in any order.`,
      documented: { maxItems: MAX_EVENTS_PER_REQUEST },
    }),
  }),
)
export type IngestRequest = Static<typeof IngestRequest>

/** The rules bound the events, as in `IngestRequest`. */
export const AppendRequest = named(
  'AgentAppendRequest',
  Type.Object({
    ...sessionMembers,
    events: Type.Array(AppendEvent, {
      minItems: 1,
      description: `1 to ${MAX_EVENTS_PER_REQUEST} events in the order of the conversation. Known events may be among them.`,
      documented: { maxItems: MAX_EVENTS_PER_REQUEST },
    }),
  }),
)
export type AppendRequest = Static<typeof AppendRequest>

export const ProcessingStatusWord = named(
  'AgentProcessingStatus',
  oneOf(
    PROCESSING_STATUSES,
    'Where the session stands. `pending`: to be processed; `processing`, `completed`, `failed`; `billing_blocked`: it waits for ' +
      'credits; `capture_disabled`: content is not kept.',
  ),
)

const responseMembers = {
  sessionId: uuid('Id of the session.'),
  acceptedEventCount: count('New events that were stored.'),
  deduplicatedEventCount: count('Events that were stored already.'),
  revisedEventCount: count('Events of which a newer revision was stored.'),
  processingStatus: ProcessingStatusWord,
  nextSequence: count(
    'The lowest sequence behind all events of the session: the next new event may have it.',
    {
      maximum: Number.MAX_SAFE_INTEGER,
    },
  ),
  ignored: ignoredMembers,
}

export const IngestResponse = named('AgentIngestResponse', Type.Object(responseMembers))
export type IngestResponse = Static<typeof IngestResponse>

export const AppendedEvent = named(
  'AgentAppendedEvent',
  Type.Object(
    {
      externalEventId: Type.String({
        description: 'Id of the event: the caller’s, or else the derived one.',
        examples: ['m1'],
      }),
      sequence: count('Position in the session.'),
      revision: Type.Integer({ minimum: 1, description: 'The revision that has the content that was sent.' }),
    },
    { description: 'Where an event of the request is stored.' },
  ),
)
export type AppendedEvent = Static<typeof AppendedEvent>

export const AppendResponse = named(
  'AgentAppendResponse',
  Type.Object({
    ...responseMembers,
    events: Type.Array(AppendedEvent, { description: 'The events of the request, in its order.' }),
  }),
)
export type AppendResponse = Static<typeof AppendResponse>
