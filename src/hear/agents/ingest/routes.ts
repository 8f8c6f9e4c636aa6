/** `POST /v3/rest/agent-conversations/ingest` (specification, "Agent conversation ingestion") and `…/append`. */
import { type Operation, ok, operation } from '../../../http/operation.ts'
import { MAX_VALUES } from '../../../http/parse-body.ts'
import { MAX_EVENT_BYTES, MAX_EVENTS_PER_REQUEST, MAX_REQUEST_BYTES } from '../model.ts'
import { AppendRequest, AppendResponse, IngestRequest, IngestResponse } from '../request-model.ts'
import { COMPARED_REVISIONS } from './append.rules.ts'
import type { Ingest } from './service.ts'

/** A short conversation with feedback. It works unchanged with the demo application. */
const INGEST_EXAMPLE: IngestRequest = {
  agentKey: 'demo',
  externalSessionId: 'chat-2041',
  status: 'ended',
  agentVersion: 'support-7',
  source: { sdk: 'http', version: '1' },
  context: { productArea: 'billing', surface: 'help-widget', environment: 'production' },
  participants: [{ externalId: 'customer-77', displayName: 'Ada', boundary: 'external' }],
  events: [
    {
      externalEventId: 'm1',
      sequence: 1,
      revision: 1,
      occurredAt: '2026-01-02T09:00:00Z',
      type: 'user_message',
      final: true,
      participantExternalId: 'customer-77',
      content: 'Where do I find last month’s invoice?',
    },
    {
      externalEventId: 'm2',
      sequence: 2,
      revision: 1,
      occurredAt: '2026-01-02T09:00:04Z',
      type: 'assistant_message',
      final: true,
      content: 'Under Settings → Billing → Invoices.',
      model: { provider: 'example', name: 'assistant-1' },
      usage: { inputTokens: 212, outputTokens: 11, latencyMs: 830 },
    },
    {
      externalEventId: 'f1',
      sequence: 3,
      revision: 1,
      occurredAt: '2026-01-02T09:00:20Z',
      type: 'feedback',
      final: true,
      participantExternalId: 'customer-77',
      feedback: {
        targetEventExternalId: 'm2',
        rating: 'positive',
        labels: ['accurate'],
        comment: 'Found it at once.',
      },
    },
  ],
}

/** The same conversation from a sender that keeps no state. It works unchanged with the demo application. */
export const APPEND_EXAMPLE: AppendRequest = {
  agentKey: 'demo',
  externalSessionId: 'chat-2042',
  participants: [{ externalId: 'customer-77', displayName: 'Ada', boundary: 'external' }],
  events: [
    {
      type: 'user_message',
      participantExternalId: 'customer-77',
      content: 'Where do I find last month’s invoice?',
    },
    { type: 'assistant_message', content: 'Under Settings → Billing → Invoices.' },
  ],
}

const LIMITS = [
  `At most ${MAX_EVENTS_PER_REQUEST} events and ${MAX_REQUEST_BYTES} bytes a request, ${MAX_EVENT_BYTES} bytes an event.`,
  `At most ${MAX_VALUES} names, texts, lists and objects a request. Redaction that takes too much work is refused with`,
  '`request_too_costly`: send fewer or shorter events, or use fewer and simpler patterns.',
  'For servers only: the secret must never reach a browser.',
] as const

const ERRORS = [
  'quota_exceeded',
  'agent_chats_disabled',
  'agent_application_not_found',
  'too_many_events',
  'event_too_large',
  'request_too_costly',
  'environment_not_allowed',
  'invalid_feedback_target',
  'event_changed',
  'event_type_changed',
  'sequence_occupied',
  'event_finalized',
] as const

export function ingestOperations({ ingest, append }: Ingest): readonly Operation[] {
  return [
    operation({
      id: 'ingestAgentConversation',
      method: 'POST',
      path: '/v3/rest/agent-conversations/ingest',
      tag: 'Agent conversations',
      summary: 'Store events of one agent session',
      description: [
        'Stores new events, recognises retries and applies revisions; all or nothing. Events may come in any order and be',
        'repeated freely: `sequence` orders them, `externalEventId` with `revision` identifies them. The answer means that',
        'the events are durable; signals follow asynchronously.',
        '',
        ...LIMITS,
      ].join('\n'),
      access: 'agent',
      body: IngestRequest,
      maxBodyBytes: MAX_REQUEST_BYTES,
      example: INGEST_EXAMPLE,
      success: { status: 200, description: 'What became of the events', schema: IngestResponse },
      errors: [...ERRORS, 'event_sequence_moved'],
      handler: async (call) => ok(await ingest(call.principal, () => call.bodyParts())),
    }),
    operation({
      id: 'appendAgentConversation',
      method: 'POST',
      path: '/v3/rest/agent-conversations/append',
      tag: 'Agent conversations',
      summary: 'Append events to one agent session',
      description: [
        'As ingest, for senders that keep no state: events have neither `sequence` nor `revision`. The service numbers new',
        'events in the order of the request, behind the last event of the session, and a new session from 1. The whole history',
        'may be sent with every request.',
        '',
        'An event with a known `externalEventId` is a duplicate where its present revision, or one of the',
        `${COMPARED_REVISIONS} before it, has the same content; otherwise it becomes the next revision. Its time does not decide: a`,
        'duplicate keeps the stored one. Where `externalEventId` is absent, it is derived from type, content and how often the',
        'request has had both; then the request must have the whole history. Feedback is retracted through ingest.',
        '',
        ...LIMITS,
      ].join('\n'),
      access: 'agent',
      body: AppendRequest,
      maxBodyBytes: MAX_REQUEST_BYTES,
      example: APPEND_EXAMPLE,
      success: { status: 200, description: 'What became of the events', schema: AppendResponse },
      errors: ERRORS,
      handler: async (call) => ok(await append(call.principal, () => call.bodyParts())),
    }),
  ]
}
