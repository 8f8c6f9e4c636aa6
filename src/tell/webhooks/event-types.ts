/**
 * The types of events with the shape of their data. The triggers of `sql/migrations/0031_webhooks.sql` and of later ones write the data; a
 * test compares both. The OpenAPI document shows these shapes as `webhooks`.
 */
import { type TSchema, Type } from '@sinclair/typebox'
import { Signal } from '../../hear/agents/reads/signal.model.ts'
import { moment, named, oneOf, orNull, uuid } from '../../platform/validation/schema.ts'

const text = (description: string) => Type.String({ description })
const maybeText = (description: string) => orNull(Type.String(), description)
const at = (description: string) => moment(`${description}, in UTC.`)
const path = (what: string) => text(`Path of ${what} in this API.`)

const omitted = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Members that are left out because the body would exceed 256 KiB. Read them at `path`.',
  }),
)

const Feedback = named(
  'WebhookFeedbackRecord',
  Type.Object({
    id: Type.Integer({ description: 'Id of the record.' }),
    sourceId: Type.Integer({ description: 'Id of the feedback source.' }),
    personId: orNull(Type.Integer(), 'Id of the person.'),
    externalId: maybeText('The caller’s id of the record.'),
    displayTs: at('When the feedback was given'),
    fields: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: 'The fields as they were sent.',
      }),
    ),
    createdAt: at('When the record was created'),
    path: path('the record'),
    omitted,
  }),
)

const { labels, comment, evidence, ...ofSignal } = Signal.properties

const WebhookSignal = named(
  'WebhookSignal',
  Type.Object({
    ...ofSignal,
    labels: Type.Optional(labels),
    comment: Type.Optional(comment),
    evidence: Type.Optional(evidence),
    applicationId: orNull(
      uuid('Id of the agent application.'),
      'Id of the agent application. Of a conversation; null for the other channels.',
    ),
    path: path('the signal'),
    omitted,
  }),
)

const Session = named(
  'WebhookAgentSession',
  Type.Object({
    id: uuid('Id of the session.'),
    applicationId: uuid('Id of the agent application.'),
    agentKey: text('Key of the agent application.'),
    externalSessionId: text('The caller’s id of the session.'),
    status: oneOf(['open', 'ended', 'abandoned'], 'Status of the session.'),
    processingStatus: text('How far the session is processed.'),
    environment: maybeText('Environment of the session.'),
    agentVersion: maybeText('Version of the agent.'),
    startedAt: at('When the first event occurred'),
    endedAt: at('When the last event occurred'),
    createdAt: at('When the session was created'),
    lastActivityAt: at('When the session received something last'),
    path: path('the session'),
  }),
)

const Recording = named(
  'WebhookRecording',
  Type.Object({
    id: uuid('Id of the recording.'),
    displayName: maybeText('Name of the recording.'),
    source: text('Source of the recording.'),
    externalId: maybeText('The caller’s id of the recording.'),
    startedAt: orNull(at('Start of the conversation')),
    completedAt: orNull(at('End of the conversation')),
    createdAt: at('When the recording was created'),
    asset: orNull(
      Type.Object({
        status: text('Status of the media.'),
        errorCode: maybeText('Why the media failed.'),
        durationSeconds: orNull(Type.Number(), 'Duration in seconds.'),
        isAudio: orNull(Type.Boolean(), 'Whether the media has no picture.'),
        contentType: maybeText('Media type.'),
        fileSize: orNull(Type.Integer(), 'Bytes.'),
      }),
      'The media; null if none was ever asked for.',
    ),
    transcript: Type.Object(
      {
        status: text('Status of the transcript.'),
        source: maybeText('Where the transcript comes from.'),
      },
      { description: 'The transcript.' },
    ),
    path: path('the recording'),
  }),
)

const Upload = named(
  'WebhookUpload',
  Type.Object({
    uploadId: uuid('Id of the upload.'),
    recordingId: uuid('Id of the recording.'),
    phase: oneOf(['ready', 'failed', 'cancelled'], 'Phase of the upload.'),
    errorCode: maybeText('Why the upload failed.'),
    fileName: text('Name of the file.'),
    fileSize: Type.Integer({ description: 'Bytes of the file.' }),
    source: text('Source of the upload.'),
    createdAt: at('When the upload was created'),
    path: path('the upload'),
  }),
)

const Theme = named(
  'WebhookTheme',
  Type.Object({
    id: uuid('Id of the theme.'),
    title: text('What its items have in common.'),
    count: Type.Integer({ description: 'Items of the theme.' }),
    pinned: Type.Boolean({ description: 'Whether the theme is pinned.' }),
    hidden: Type.Boolean({ description: 'Whether the theme is hidden.' }),
    mergedInto: orNull(uuid('Id of the theme that it became a part of.'), 'Null: it was not merged.'),
    createdAt: at('When the theme was created'),
    path: path('the theme'),
  }),
)

const Ping = named('WebhookPing', Type.Object({ webhookId: uuid('Id of the webhook.') }))

interface EventType {
  readonly summary: string
  readonly data: TSchema
}

/** Types that are sent. */
export const EVENT_TYPES = {
  'feedback_record.created': { summary: 'A feedback record was stored', data: Feedback },
  'signal.created': { summary: 'A signal was found, or is shown from now on', data: WebhookSignal },
  'signal.updated': {
    summary: 'A signal was changed by a revision, a new analysis or a correction',
    data: WebhookSignal,
  },
  'agent_session.ended': { summary: 'A session ended', data: Session },
  'agent_session.abandoned': { summary: 'A session was abandoned', data: Session },
  'agent_session.processed': {
    summary: 'Everything received so far of a session is processed. Repeated after more events',
    data: Session,
  },
  'recording.created': { summary: 'A recording was created', data: Recording },
  'recording.asset.completed': { summary: 'The media of a recording can be played', data: Recording },
  'recording.asset.failed': {
    summary:
      'The media of a recording failed. With `asset.status` completed, new media failed and the old stays',
    data: Recording,
  },
  'recording.transcript.completed': { summary: 'The transcript of a recording is ready', data: Recording },
  'recording.transcript.failed': { summary: 'The transcription of a recording failed', data: Recording },
  'upload.ready': { summary: 'The media of an upload can be played', data: Upload },
  'upload.failed': { summary: 'An upload failed', data: Upload },
  'upload.cancelled': { summary: 'An upload was cancelled', data: Upload },
  'theme.created': { summary: 'A theme was created', data: Theme },
  'theme.changed': {
    summary: 'A theme got another title, was pinned, hidden or merged, or no longer is',
    data: Theme,
  },
  ping: { summary: 'A test that was asked for', data: Ping },
} as const satisfies Readonly<Record<string, EventType>>

const ALL_TYPES = '*'

/** What a subscription may name. A ping is sent without a subscription, too. */
export const SUBSCRIBABLE = [
  ALL_TYPES,
  ...(Object.keys(EVENT_TYPES) as (keyof typeof EVENT_TYPES)[]),
] as const
