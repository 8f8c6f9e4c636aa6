/** Shapes of the event stream in the API. */
import { Type } from '@sinclair/typebox'
import { moment, named, oneOf, uuid } from '../../platform/validation/schema.ts'

/** What a change is about. The triggers of `sql/migrations/0062_event_stream.sql` write these. */
const CHANGE_TYPES = [
  'agent_session.created',
  'agent_session.ended',
  'agent_session.abandoned',
  'agent_session.processed',
  'signal.created',
  'signal.updated',
  'feedback_record.created',
  'recording.created',
  'recording.asset.changed',
  'recording.transcript.changed',
] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** `ready`: the stream begins here. `reset`: the stream begins here, and events before it are lost to this client. */
export type StartType = 'ready' | 'reset'

const optional = Type.Optional

/** The data of one server-sent event. */
export const StreamEvent = named(
  'StreamEvent',
  Type.Object({
    id: Type.String({ description: 'Id of the event, for `Last-Event-ID`.' }),
    type: oneOf(
      ['ready', 'reset', ...CHANGE_TYPES],
      'What happened; also the name of the event. After `ready` and `reset`, load what you show.',
    ),
    occurredAt: moment('When the change was stored, in UTC.'),
    sessionId: optional(uuid('Id of the session.')),
    applicationId: optional(uuid('Id of the agent application.')),
    signalId: optional(uuid('Id of the signal.')),
    feedbackSourceId: optional(Type.Integer({ description: 'Id of the feedback source.' })),
    feedbackRecordId: optional(Type.Integer({ description: 'Id of the feedback record.' })),
    recordingId: optional(uuid('Id of the recording.')),
  }),
)
