/**
 * Wire shapes and limits of agent conversation ingestion (specification, "Agent conversation ingest request").
 * Schemas, code and documentation all use the limits of this file.
 */
import { type Static, Type } from '@sinclair/typebox'
import { KINDS } from '../../analysis/analyze/insight.ts'
import {
  described,
  moment,
  named,
  oneOf,
  STORABLE_NOT_BLANK,
  text,
  uuid,
} from '../../platform/validation/schema.ts'

export const MAX_EVENTS_PER_REQUEST = 500
export const MAX_REQUEST_BYTES = 2 * 1024 * 1024
export const MAX_EVENT_BYTES = 256 * 1024
const MAX_CONTEXT_PROPERTIES = 50
export const MAX_PARTICIPANTS_PER_REQUEST = 500
/** Most participants of a session over all its requests. Every read and write of the session includes them. */
export const MAX_PARTICIPANTS_PER_SESSION = 1_000
/** Most characters of ids, labels and names, which appear in indexes and lists. */
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

export const SIGNAL_SOURCES = ['explicit_feedback', 'qualitative_inference'] as const
export type SignalSource = (typeof SIGNAL_SOURCES)[number]

/** Kinds that older versions inferred. They are no longer written. As filters they stand for the kinds that replaced them. */
const FORMER_KINDS = ['user_sentiment', 'resolved', 'unresolved', 'repeated_question'] as const

/** Users give `message_feedback` explicitly. The other kinds are inferred. */
export const SIGNAL_KINDS = ['message_feedback', ...KINDS, ...FORMER_KINDS] as const
export type SignalKind = (typeof SIGNAL_KINDS)[number]

/** A time range. Bounds are RFC 3339 texts in UTC with microseconds. */
export interface Period {
  /** Inclusive. */
  readonly since?: string | undefined
  /** Exclusive. */
  readonly until?: string | undefined
}

const Identifier = Type.String({
  minLength: 1,
  maxLength: MAX_NAME,
  pattern: '\\S',
  words: `a string of 1 to ${MAX_NAME} characters that are not all blank`,
  documented: { pattern: STORABLE_NOT_BLANK },
})
const SafeInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const label = (description: string) =>
  text(`${description} 1 to ${MAX_NAME} characters.`, { minLength: 1, maxLength: MAX_NAME })
export const identifier = (description: string) =>
  described(Identifier, `${description} 1 to ${MAX_NAME} characters.`)
const place = (description: string) => text(`${description} At most 2048 characters.`, { maxLength: 2048 })
const tokens = (description: string) => Type.Number({ minimum: 0, description })

/** The context of a session. An event may have its own context, which overrides members of the session's. */
export const Context = named(
  'AgentContext',
  Type.Object(
    {
      productArea: Type.Optional(label('Part of the product, such as `billing`.')),
      surface: Type.Optional(label('Where the agent is met, such as `help-widget`.')),
      routeTemplate: Type.Optional(place('Route of the page, such as `/orders/:id`.')),
      pathname: Type.Optional(place('Path of the page, such as `/orders/2041`.')),
      entryPoint: Type.Optional(label('What opened the conversation, such as `help-button`.')),
      entityType: Type.Optional(label('What the conversation is about, such as `order`.')),
      entityId: Type.Optional(label('The caller’s id of what the conversation is about.')),
      environment: Type.Optional(label('Environment of the application, such as `production`.')),
      release: Type.Optional(label('Release of the application.')),
      properties: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          maxProperties: MAX_CONTEXT_PROPERTIES,
          description: `At most ${MAX_CONTEXT_PROPERTIES} further JSON values, by name.`,
        }),
      ),
    },
    { description: 'Where in the product the conversation takes place.' },
  ),
)
export type Context = Static<typeof Context>

export const Participant = named(
  'AgentParticipant',
  Type.Object(
    {
      externalId: Type.Optional(identifier('The caller’s id of the participant.')),
      displayName: Type.Optional(label('Name to show.')),
      username: Type.Optional(label('Name to sign in with.')),
      email: Type.Optional(label('E-mail address.')),
      companyExternalId: Type.Optional(label('The caller’s id of the company.')),
      boundary: Type.Optional(
        oneOf(
          BOUNDARIES,
          '`external`: a customer; `internal`: a member of the organization. Unless given, as the settings of the application say.',
        ),
      ),
      personId: Type.Optional(uuid('Id of the canonical person.')),
    },
    {
      description: 'Who takes part in a conversation.',
      documented: {
        dependentRequired: { displayName: ['externalId'], username: ['externalId'], email: ['externalId'] },
      },
    },
  ),
)
export type Participant = Static<typeof Participant>

export const Feedback = named(
  'AgentFeedback',
  Type.Object(
    {
      targetEventExternalId: Type.Optional(
        text('The `externalEventId` of an earlier `assistant_message` of the same session. Required.', {
          documented: { minLength: 1 },
        }),
      ),
      rating: Type.Optional(oneOf(RATINGS, 'Whether the response was liked.')),
      labels: Type.Optional(
        Type.Array(label('A word of the caller’s choice.'), {
          maxItems: 50,
          description: 'Why, in words of the caller’s choice: at most 50.',
        }),
      ),
      comment: Type.Optional(text('What the user wrote about the response.')),
    },
    {
      description:
        'A rating, labels, a comment, or any combination. A revision above 1 with none of them retracts the feedback: its signal goes.',
      documented: { required: ['targetEventExternalId'] },
    },
  ),
)
export type Feedback = Static<typeof Feedback>

/** True for feedback with neither rating, labels nor comment. In a revision above 1 it retracts the earlier feedback. */
export function saysNothing({ rating, labels = [], comment = '' }: Feedback): boolean {
  return rating === undefined && labels.length === 0 && comment.trim() === ''
}

export const EVENT_TYPE_PATTERN = '^[a-z][a-z0-9_]{0,63}$'
const EVENT_TYPE_WORDS = 'at most 64 lower-case letters, digits and underscores that begin with a letter'

const eventMembers = {
  externalEventId: identifier('The caller’s id of the event, unique in its session.'),
  sequence: described(SafeInteger, 'Position in the session, from 0 or from 1.'),
  revision: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Version of the event, from 1. A higher one replaces lower ones.',
  }),
  occurredAt: moment('When it happened, RFC 3339 with offset.'),
  type: Type.String({
    pattern: EVENT_TYPE_PATTERN,
    words: EVENT_TYPE_WORDS,
    description:
      'What happened: `user_message`, `assistant_message`, `feedback`, or a word of the caller’s own: at most 64 ' +
      'lower-case letters, digits and underscores that begin with a letter.',
    examples: ['user_message', 'assistant_message', 'feedback'],
  }),
  final: Type.Optional(
    Type.Boolean({
      default: true,
      description: '`false`: the event is partial, to be finalized by a later revision.',
    }),
  ),
  participantExternalId: Type.Optional(identifier('The `externalId` of the participant whose event it is.')),
  content: Type.Optional(
    Type.Union(
      [
        text('Text.'),
        Type.Array(Type.Unknown(), { description: 'Structured parts.' }),
        Type.Record(Type.String(), Type.Unknown(), { description: 'One structured part.' }),
      ],
      { description: 'What was said: text, or structured message parts.' },
    ),
  ),
  model: Type.Optional(
    Type.Object(
      {
        provider: Type.Optional(label('Who provides the model.')),
        name: Type.Optional(label('Name of the model.')),
      },
      { description: 'The model that made the response.' },
    ),
  ),
  usage: Type.Optional(
    Type.Object(
      {
        inputTokens: Type.Optional(tokens('Tokens that the model read.')),
        outputTokens: Type.Optional(tokens('Tokens that the model wrote.')),
        latencyMs: Type.Optional(tokens('Milliseconds that the response took.')),
      },
      { description: 'What the response cost.' },
    ),
  ),
  trace: Type.Optional(
    Type.Object(
      {
        traceId: Type.Optional(label('Id of the trace.')),
        spanId: Type.Optional(label('Id of the span.')),
      },
      { description: 'Where the event is found in the caller’s traces.' },
    ),
  ),
  feedback: Type.Optional(Feedback),
  context: Type.Optional(
    described(Context, 'Overrides members of the context of the session for this event.'),
  ),
}

const ON_A_RESPONSE = {
  title: 'Feedback on a response',
  required: ['type', 'feedback'],
  properties: { type: { const: 'feedback' }, feedback: {} },
}
const ANY_OTHER = {
  title: 'Any other event',
  required: ['type'],
  properties: { type: { not: { const: 'feedback' } }, feedback: false },
}

/** The feedback has a rating, labels or a comment. */
const SAYS_SOMETHING = {
  properties: { targetEventExternalId: {}, rating: {}, labels: {}, comment: {} },
  anyOf: [
    { required: ['rating'], properties: { rating: {} } },
    { required: ['labels'], properties: { labels: { minItems: 1 } } },
    { required: ['comment'], properties: { comment: { pattern: '[^\\s\\u0000]' } } },
  ],
}
const SAYING_SOMETHING = { ...ON_A_RESPONSE.properties, feedback: SAYS_SOMETHING }

export const Event = named(
  'AgentEvent',
  Type.Object(eventMembers, {
    description: 'One message or other happening of a conversation.',
    documented: {
      oneOf: [ON_A_RESPONSE, ANY_OTHER],
      anyOf: [
        { title: 'With a rating, labels or a comment', properties: { feedback: SAYS_SOMETHING } },
        { title: 'A revision, which may retract feedback', properties: { revision: { minimum: 2 } } },
      ],
    },
  }),
)
export type Event = Static<typeof Event>

const { sequence: _sequence, revision: _revision, ...unnumbered } = eventMembers

/** An event that the service numbers. */
export const AppendEvent = named(
  'AgentAppendEvent',
  Type.Object(
    {
      ...unnumbered,
      externalEventId: Type.Optional(
        identifier(
          'The caller’s id of the event, unique in its session. Unless given, the service derives it from `type`, `content` and how ' +
            'often the request has had both before, so a caller without ids sends the whole history each time.',
        ),
      ),
      occurredAt: Type.Optional(
        moment('When it happened, RFC 3339 with offset. Unless given, when the service stores the event.'),
      ),
    },
    {
      description:
        'One message or other happening of a conversation. The service gives it its sequence and its revision.',
      documented: { oneOf: [{ ...ON_A_RESPONSE, properties: SAYING_SOMETHING }, ANY_OTHER] },
    },
  ),
)
export type AppendEvent = Static<typeof AppendEvent>
