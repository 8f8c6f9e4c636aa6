/**
 * Wire shapes and limits of agent conversation ingestion (specification, "Agent conversation ingest request").
 * Limits are named here once and used by schema, code and documentation alike.
 */
import { type Static, Type } from '@sinclair/typebox'

export const MAX_EVENTS_PER_REQUEST = 500
export const MAX_REQUEST_BYTES = 2 * 1024 * 1024
export const MAX_EVENT_BYTES = 256 * 1024
export const MAX_CONTEXT_PROPERTIES = 50
export const MAX_PARTICIPANTS_PER_REQUEST = 500
/** All requests of a session together: they are read and written with it every time. */
export const MAX_PARTICIPANTS_PER_SESSION = 1_000
/** Ids, labels, names: anything that ends in an index or a list. */
const MAX_NAME = 512

export const SESSION_STATUSES = ['open', 'ended', 'abandoned'] as const
export type SessionStatus = (typeof SESSION_STATUSES)[number]

export const PROCESSING_STATUSES = [
  'pending',
  'processing',
  'completed',
  'failed',
  'billing_blocked',
  'capture_disabled',
] as const
export type ProcessingStatus = (typeof PROCESSING_STATUSES)[number]

export const RATINGS = ['positive', 'negative'] as const
export type Rating = (typeof RATINGS)[number]

export const BOUNDARIES = ['external', 'internal'] as const

/** One of a fixed list of words. */
export const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.Union(values.map((value) => Type.Literal(value))))

const Identifier = Type.String({ minLength: 1, maxLength: MAX_NAME, pattern: '\\S' })
const Label = Type.String({ minLength: 1, maxLength: MAX_NAME })
/** Bounded by the size of its event, not here, so that a text too long gets the code of a large event. */
const Text = Type.String()
const SafeInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const NonNegative = Type.Number({ minimum: 0 })

/** Session level; an event may carry one to override members of it. */
export const Context = Type.Object({
  productArea: Type.Optional(Label),
  surface: Type.Optional(Label),
  routeTemplate: Type.Optional(Type.String({ maxLength: 2048 })),
  pathname: Type.Optional(Type.String({ maxLength: 2048 })),
  entryPoint: Type.Optional(Label),
  entityType: Type.Optional(Label),
  entityId: Type.Optional(Label),
  environment: Type.Optional(Label),
  release: Type.Optional(Label),
  properties: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      maxProperties: MAX_CONTEXT_PROPERTIES,
      description: `At most ${MAX_CONTEXT_PROPERTIES} further JSON values`,
    }),
  ),
})
export type Context = Static<typeof Context>

export const Participant = Type.Object({
  externalId: Type.Optional(Identifier),
  displayName: Type.Optional(Label),
  username: Type.Optional(Label),
  email: Type.Optional(Label),
  companyExternalId: Type.Optional(Label),
  boundary: Type.Optional(oneOf(BOUNDARIES)),
  personId: Type.Optional(Type.String({ description: 'UUID of the canonical person' })),
})
export type Participant = Static<typeof Participant>

export const Feedback = Type.Object({
  targetEventExternalId: Type.Optional(
    Type.String({ description: 'An earlier assistant_message of the same session' }),
  ),
  rating: Type.Optional(oneOf(RATINGS)),
  labels: Type.Optional(Type.Array(Label, { maxItems: 50 })),
  comment: Type.Optional(Text),
})
export type Feedback = Static<typeof Feedback>

/** True for feedback with neither rating, labels nor comment. In a revision above 1 it retracts what was said before. */
export function saysNothing({ rating, labels = [], comment = '' }: Feedback): boolean {
  return rating === undefined && labels.length === 0 && comment.trim() === ''
}

export const EVENT_TYPE_PATTERN = '^[a-z][a-z0-9_]{0,63}$'

export const Event = Type.Object({
  externalEventId: Identifier,
  sequence: SafeInteger,
  revision: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  occurredAt: Type.String({ description: 'RFC 3339 date-time with offset' }),
  type: Type.String({
    pattern: EVENT_TYPE_PATTERN,
    examples: ['user_message', 'assistant_message', 'feedback'],
  }),
  final: Type.Optional(
    Type.Boolean({ default: true, description: 'false: partial, to be finalized by a later revision' }),
  ),
  participantExternalId: Type.Optional(Identifier),
  content: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.Unknown()), Type.Record(Type.String(), Type.Unknown())], {
      description: 'Text, or structured message parts',
    }),
  ),
  model: Type.Optional(Type.Object({ provider: Type.Optional(Label), name: Type.Optional(Label) })),
  usage: Type.Optional(
    Type.Object({
      inputTokens: Type.Optional(NonNegative),
      outputTokens: Type.Optional(NonNegative),
      latencyMs: Type.Optional(NonNegative),
    }),
  ),
  trace: Type.Optional(Type.Object({ traceId: Type.Optional(Label), spanId: Type.Optional(Label) })),
  feedback: Type.Optional(
    Type.Unsafe<Feedback>({
      ...Feedback,
      description:
        'A rating, labels, a comment, or any combination. A revision above 1 with none of them retracts the feedback: its signal goes.',
    }),
  ),
  context: Type.Optional(Context),
})
export type Event = Static<typeof Event>

/** `events` is bounded by the rules, not here, so that 501 events get their own stable code. */
export const IngestRequest = Type.Object({
  agentKey: Identifier,
  externalSessionId: Identifier,
  status: Type.Optional(oneOf(SESSION_STATUSES)),
  agentVersion: Type.Optional(Label),
  source: Type.Optional(Type.Object({ sdk: Type.Optional(Label), version: Type.Optional(Label) })),
  context: Type.Optional(Context),
  participants: Type.Optional(
    Type.Array(Participant, {
      maxItems: MAX_PARTICIPANTS_PER_REQUEST,
      description: `Added to those of the session, which has at most ${MAX_PARTICIPANTS_PER_SESSION} of them`,
    }),
  ),
  events: Type.Array(Event, { minItems: 1, description: `1 to ${MAX_EVENTS_PER_REQUEST} events` }),
})
export type IngestRequest = Static<typeof IngestRequest>

export const IngestResponse = Type.Object({
  sessionId: Type.String({ format: 'uuid' }),
  acceptedEventCount: Type.Integer(),
  deduplicatedEventCount: Type.Integer(),
  revisedEventCount: Type.Integer(),
  processingStatus: oneOf(PROCESSING_STATUSES),
})
export type IngestResponse = Static<typeof IngestResponse>
