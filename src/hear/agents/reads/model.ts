/** Wire shapes of the routes that read sessions, events and revisions. */

import { type Static, Type } from '@sinclair/typebox'
import { OUTCOMES, SENTIMENTS } from '../../../analysis/analyze/insight.ts'
import { AnalysisShape, OutcomeBasisShape } from '../../../analysis/findings/coverage.model.ts'
import { pageOf, pageQuery } from '../../../http/paging.ts'
import { momentParameter } from '../../../http/parameters.ts'
import {
  createdAt,
  described,
  moment,
  named,
  oneOf,
  orNull,
  updatedAt,
  uuid,
} from '../../../platform/validation/schema.ts'
import { Context, Event, Feedback, Participant, SESSION_STATUSES } from '../model.ts'
import { ProcessingStatusWord } from '../request-model.ts'

const orNullText = (description: string) => orNull(Type.String(), description)

/** A session without its events. */
const sessionMembers = {
  id: uuid('Id of the session.'),
  agentKey: Type.String({ description: 'Key of its application.' }),
  externalSessionId: Type.String({ description: 'The caller’s id of the session.' }),
  status: oneOf(SESSION_STATUSES, 'What its sender said of it last.'),
  processingStatus: ProcessingStatusWord,
  agentVersion: orNullText('Version of the agent; null where none was sent.'),
  source: orNull(
    Type.Object({
      sdk: Type.Optional(Type.String({ description: 'Name of the library.' })),
      version: Type.Optional(Type.String({ description: 'Version of the library.' })),
    }),
    'What sent the events; null where it was not said.',
  ),
  context: orNull(Context, 'Where in the product the session takes place; null where it was not said.'),
  environment: orNullText('Environment of the session; null where none was sent.'),
  participants: Type.Array(Participant, { description: 'Who takes part.' }),
  outcome: orNull(
    oneOf(
      OUTCOMES,
      '`resolved`: the customer’s matter is visibly settled; `unresolved`: it visibly stands open or failed; `unclear`: the ' +
        'conversation does not say it.',
    ),
    'How the conversation ended, as the analysis reads it; null: not analysed, or in a language that is not.',
  ),
  outcomeBasis: OutcomeBasisShape,
  sentiment: orNull(
    oneOf(SENTIMENTS, 'Polite phrases alone are `neutral`.'),
    'How the customer felt at the end; null as for `outcome`, and where it cannot be told surely enough.',
  ),
  analysis: AnalysisShape,
  processedThroughSequence: orNull(
    Type.Integer({ minimum: 0 }),
    'Every event up to this sequence has been processed; null: none yet.',
  ),
  gapsPermanentThrough: orNull(
    Type.Integer({ minimum: 0 }),
    'Sequences missing up to here are no longer waited for, because the session was idle for too long; null: never.',
  ),
  startedAt: moment(
    'When the first event occurred, in UTC. For some time after an upgrade, older sessions have `createdAt` here.',
  ),
  endedAt: moment('When the last event occurred, in UTC; of older sessions as `startedAt`.'),
  createdAt: described(createdAt, 'When the first event arrived, in UTC.'),
  updatedAt,
  lastActivityAt: moment('When events arrived last, in UTC.'),
}
export const Session = named('AgentSession', Type.Object(sessionMembers))

const StoredFeedback = named(
  'StoredAgentFeedback',
  Type.Object(
    {
      ...Feedback.properties,
      retracted: Type.Optional(
        Type.Literal(true, { description: 'It takes back what earlier revisions said.' }),
      ),
    },
    { description: 'Feedback as it is stored.' },
  ),
)

/** A stored event: sanitised, in its newest revision. */
const StoredEvent = named(
  'StoredAgentEvent',
  Type.Object({
    ...Event.properties,
    feedback: Type.Optional(StoredFeedback),
    final: Type.Boolean({ description: '`false`: a later revision will finalize it.' }),
    createdAt,
    updatedAt,
  }),
)

const { participantExternalId, content, model, usage, trace, feedback, context } = StoredEvent.properties
/** The members of an event that are stored as JSON. */
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

/** One revision of an event. In the newest one `replacedAt` is null. */
export const EventRevision = named(
  'AgentEventRevision',
  Type.Object({
    revision: Type.Integer({ minimum: 1, description: 'Version of the event, from 1.' }),
    final: Type.Boolean({ description: '`false`: a later revision was to finalize it.' }),
    occurredAt: moment('When it happened, in UTC.'),
    ...EventBody.properties,
    createdAt,
    replacedAt: orNull(
      moment('A moment.'),
      'When a newer revision replaced it, in UTC; null for the newest one.',
    ),
  }),
)

export const SessionWithEvents = named(
  'AgentSessionWithEvents',
  Type.Object({
    ...sessionMembers,
    events: described(pageOf(StoredEvent), 'One page of its events, in the order of `sequence`.'),
  }),
)

const period = {
  since: Type.Optional(momentParameter('Began at or after this moment (`startedAt`).')),
  until: Type.Optional(momentParameter('Began before this moment.')),
  createdAfter: Type.Optional(momentParameter('Arrived at or after this moment (`createdAt`).')),
  createdBefore: Type.Optional(momentParameter('Arrived before this moment.')),
}

const agentKey = Type.Optional(Type.String({ description: 'Of the application with this key.' }))

export const SessionQuery = Type.Object({
  agentKey,
  externalSessionId: Type.Optional(
    Type.String({ description: 'The whole `externalSessionId` of a session, by case.' }),
  ),
  status: Type.Optional(oneOf(SESSION_STATUSES, 'Sessions with this status.')),
  processingStatus: Type.Optional(described(ProcessingStatusWord, 'Sessions that stand there.')),
  environment: Type.Optional(Type.String({ description: 'Sessions of this environment, by case.' })),
  outcome: Type.Optional(oneOf(OUTCOMES, 'Sessions that ended so, as the analysis reads it.')),
  ...period,
  ...pageQuery(100, 20),
})

/** Events and revisions inside one session. */
export const EventPageQuery = Type.Object(pageQuery(500, 100))
