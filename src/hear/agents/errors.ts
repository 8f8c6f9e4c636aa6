/** Errors of agents that a client can see. `src/platform/errors.ts` describes the parts. */
export const AGENT_ERRORS = {
  codes: {
    too_many_events: 400,
    event_too_large: 400,
    environment_not_allowed: 400,
    invalid_feedback_target: 400,
    agent_chats_disabled: 404,
    agent_application_not_found: 404,
    agent_session_not_found: 404,
    agent_event_not_found: 404,
    agent_signal_not_found: 404,
    event_changed: 409,
    event_sequence_moved: 409,
    event_type_changed: 409,
    sequence_occupied: 409,
    event_finalized: 409,
  },
  details: {
    environment_not_allowed: 'The application does not allow this environment.',
    event_too_large: 'The event is too large.',
    invalid_feedback_target: 'The feedback is not about an earlier assistant message of its session.',
    event_changed: 'The event is stored with other content.',
    event_sequence_moved: 'The event is stored with another sequence.',
    event_type_changed: 'The event is stored with another type.',
    sequence_occupied: 'Another event has this sequence.',
    event_finalized: 'The event is final, and sent as partial.',
  },
  members: {
    eventIndex: {
      type: 'integer',
      minimum: 0,
      description: 'Where one event is refused: its position in `events`, from 0.',
    },
    externalEventId: { type: 'string', description: 'Where one event is refused: its `externalEventId`.' },
  },
  rows: { agent_application: 'agent_application_not_found', agent_session: 'agent_session_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly agents: typeof AGENT_ERRORS
  }
}
