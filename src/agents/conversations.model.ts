/** Wire shapes of what is read back: sessions, their events and revisions, signals. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../http/paging.ts'
import { momentParameter, uuidParameter } from '../http/parameters.ts'
import {
  Context,
  Event,
  Feedback,
  oneOf,
  Participant,
  PROCESSING_STATUSES,
  RATINGS,
  SESSION_STATUSES,
} from './model.ts'

export const SIGNAL_SOURCES = ['explicit_feedback', 'qualitative_inference'] as const
export type SignalSource = (typeof SIGNAL_SOURCES)[number]

/** Bounds on a moment: RFC 3339 in UTC, with microseconds. */
export interface Period {
  readonly since?: string | undefined
  /** Exclusive. */
  readonly until?: string | undefined
}

const Uuid = Type.String({ format: 'uuid' })
const Moment = Type.String({ format: 'date-time' })
const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])
const Text = Type.String()

/** A session without its events. */
export const Session = Type.Object({
  id: Uuid,
  agentKey: Text,
  externalSessionId: Text,
  status: oneOf(SESSION_STATUSES),
  processingStatus: oneOf(PROCESSING_STATUSES),
  agentVersion: orNull(Text),
  source: orNull(Type.Object({ sdk: Type.Optional(Text), version: Type.Optional(Text) })),
  context: orNull(Context),
  environment: orNull(Text),
  participants: Type.Array(Participant),
  processedThroughSequence: orNull(
    Type.Integer({ description: 'Every event up to this sequence has been processed; null: none yet' }),
  ),
  gapsPermanentThrough: orNull(
    Type.Integer({
      description:
        'Sequences missing up to here are no longer waited for, because the session was idle for too long; null: never',
    }),
  ),
  createdAt: Moment,
  updatedAt: Moment,
  lastActivityAt: Moment,
})

const StoredFeedback = Type.Composite([
  Feedback,
  Type.Object({
    retracted: Type.Optional(
      Type.Literal(true, { description: 'It takes back what earlier revisions said' }),
    ),
  }),
])

/** An event as it is stored: sanitised, in its newest revision. */
export const StoredEvent = Type.Composite([
  Type.Omit(Event, ['feedback']),
  Type.Object({ feedback: Type.Optional(StoredFeedback) }),
  Type.Object({ final: Type.Boolean(), createdAt: Moment, updatedAt: Moment }),
])

const { participantExternalId, content, model, usage, trace, feedback, context } = StoredEvent.properties
/** The members of an event that are kept as they were sanitised. */
export const EventBody = Type.Object({
  participantExternalId,
  content,
  model,
  usage,
  trace,
  feedback,
  context,
})
export type EventBody = Static<typeof EventBody>

/** One revision of an event; the newest one has no `replacedAt`. */
export const EventRevision = Type.Composite([
  Type.Object({ revision: Type.Integer(), final: Type.Boolean(), occurredAt: Moment }),
  EventBody,
  Type.Object({ createdAt: Moment, replacedAt: orNull(Moment) }),
])

export const SessionWithEvents = Type.Composite([Session, Type.Object({ events: pageOf(StoredEvent) })])

export const Signal = Type.Object({
  id: Uuid,
  agentKey: Text,
  sessionId: Uuid,
  externalSessionId: Text,
  source: oneOf(SIGNAL_SOURCES),
  kind: Text,
  rating: orNull(oneOf(RATINGS)),
  labels: Type.Array(Text),
  comment: orNull(Text),
  externalEventId: Type.String({ description: 'The event that the signal was read from' }),
  targetEventExternalId: orNull(Type.String({ description: 'The assistant response that it is about' })),
  sequence: Type.Integer(),
  revision: Type.Integer(),
  participantExternalId: orNull(Text),
  occurredAt: Moment,
  createdAt: Moment,
  updatedAt: Moment,
})

const period = {
  since: Type.Optional(momentParameter('Created at or after this moment.')),
  until: Type.Optional(momentParameter('Created before this moment.')),
}

const signalPeriods = {
  since: Type.Optional(momentParameter('`occurredAt` is this moment or later.')),
  until: Type.Optional(momentParameter('`occurredAt` is before this moment.')),
  createdAfter: Type.Optional(momentParameter('Arrived (`createdAt`) at or after this moment.')),
  createdBefore: Type.Optional(momentParameter('Arrived (`createdAt`) before this moment.')),
}

export const SessionQuery = Type.Object({
  agentKey: Type.Optional(Text),
  externalSessionId: Type.Optional(Text),
  status: Type.Optional(oneOf(SESSION_STATUSES)),
  processingStatus: Type.Optional(oneOf(PROCESSING_STATUSES)),
  environment: Type.Optional(Text),
  ...period,
  ...pageQuery(100, 20),
})

export const SignalQuery = Type.Object({
  source: Type.Optional(oneOf(SIGNAL_SOURCES)),
  rating: Type.Optional(oneOf(RATINGS)),
  kind: Type.Optional(Text),
  agentKey: Type.Optional(Text),
  sessionId: Type.Optional(uuidParameter('Signals of one session, then in the order of `sequence`')),
  ...signalPeriods,
  ...pageQuery(100, 20),
})

/** Events and revisions inside one session. */
export const EventPageQuery = Type.Object(pageQuery(500, 100))
