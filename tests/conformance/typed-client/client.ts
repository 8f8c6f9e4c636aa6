/** A program that uses the generated types: no cast, no `any`, with the strictest compiler settings. */
import createClient from 'openapi-fetch'
import type { components, paths } from './openapi.generated.ts'

type Schemas = components['schemas']

export interface Access {
  readonly baseUrl: string
  readonly apiKey: string
  readonly agentSecret: string
}

/** The data of a response. @throws Error with the error code if the request was refused */
function unwrap<T>({ data, error }: { data?: T; error?: Schemas['Error'] | Schemas['Problem'] }): T {
  if (data !== undefined) return data
  throw new Error(error === undefined ? 'no answer' : `${error.code}: ${JSON.stringify(error)}`)
}

export async function converse({ baseUrl, agentSecret, apiKey }: Access, externalSessionId: string) {
  const agent = createClient<paths>({ baseUrl, headers: { 'X-Service-Agent-Key': agentSecret } })
  const owner = createClient<paths>({ baseUrl, headers: { 'X-Service-Api-Key': apiKey } })
  const context: Schemas['AgentContext'] = { productArea: 'billing', properties: { orders: [1, 2] } }
  const occurredAt = '2026-01-02T09:00:00Z'
  const stored = unwrap(
    await agent.POST('/v3/rest/agent-conversations/ingest', {
      body: {
        agentKey: 'demo',
        externalSessionId,
        status: 'ended',
        context,
        events: [
          {
            externalEventId: 'm1',
            sequence: 1,
            revision: 1,
            occurredAt,
            type: 'user_message',
            content: 'Where is it?',
          },
          {
            externalEventId: 'm2',
            sequence: 2,
            revision: 1,
            occurredAt,
            type: 'assistant_message',
            content: ['Here.'],
          },
          {
            externalEventId: 'f1',
            sequence: 3,
            revision: 1,
            occurredAt,
            type: 'feedback',
            feedback: { targetEventExternalId: 'm2', rating: 'positive' },
          },
        ],
      },
    }),
  )
  const session = unwrap(
    await owner.GET('/v3/rest/agent-conversations/sessions/{sessionId}', {
      params: { path: { sessionId: stored.sessionId }, query: { limit: 10 } },
    }),
  )
  const signals = unwrap(
    await owner.GET('/v3/rest/signals', {
      params: {
        query: { kind: 'message_feedback', source: 'explicit_feedback', sessionId: stored.sessionId },
      },
    }),
  )
  const kinds: readonly Schemas['SignalKind'][] = signals.data.map(({ kind }) => kind)
  const types: readonly string[] = session.events.data.map(({ type }) => type)
  return { accepted: stored.acceptedEventCount, types, kinds, area: session.context?.productArea ?? null }
}

export async function record({ baseUrl, apiKey }: Access) {
  const client = createClient<paths>({ baseUrl, headers: { 'X-Service-Api-Key': apiKey } })
  const folder = unwrap(await client.POST('/v3/rest/folders', { body: { name: 'Calls' } }))
  const sources = unwrap(await client.GET('/v3/rest/metadata/sources'))
  const canonical = sources.find(({ isCanonicalRecordingSource }) => isCanonicalRecordingSource)
  if (canonical === undefined) throw new Error('no canonical source')
  const field = unwrap(
    await client.POST('/v3/rest/metadata/sources/{sourceId}/fields', {
      params: { path: { sourceId: canonical.id } },
      body: { name: 'deal size', type: 'integer' },
    }),
  )
  const recording = unwrap(
    await client.POST('/v3/rest/recordings', {
      body: {
        displayName: 'A call',
        folderIds: [folder.id],
        record: { values: [{ fieldId: field.id, value: 7 }] },
        transcript: [{ startSec: 0, endSec: 2.5, speaker: 0, text: 'Good morning!' }],
        participants: [{ speaker: 0, email: 'ada@example.com' }],
      },
    }),
  )
  const transcript = unwrap(
    await client.GET('/v3/rest/recordings/{recordingId}/transcript', {
      params: { path: { recordingId: recording.id }, query: { type: 'monologue' } },
    }),
  )
  const upload = unwrap(
    await client.POST('/v3/rest/recordings/{recordingId}/uploads', {
      params: { path: { recordingId: recording.id } },
      body: { fileName: 'call.mp4', fileSize: 10 },
    }),
  )
  const page = unwrap(await client.GET('/v3/rest/recordings', { params: { query: { page: 1, limit: 5 } } }))
  const first: Schemas['RecordingItem'] | undefined = page.data[0]
  return {
    value: recording.record?.values[0]?.value,
    asset: recording.asset?.durationSeconds ?? null,
    // Responses of other media types are text.
    said:
      typeof transcript !== 'string' && transcript.type === 'monologue'
        ? transcript.monologues.map(({ text }) => text)
        : [],
    phase: upload.phase,
    listed: first?.display_name ?? null,
    next: page.next_cursor,
  }
}

export async function feedback({ baseUrl, apiKey }: Access) {
  const client = createClient<paths>({ baseUrl, headers: { 'X-Service-Api-Key': apiKey } })
  const source = unwrap(await client.POST('/v3/rest/feedback-sources', { body: { name: 'Help desk' } }))
  const person = unwrap(
    await client.PUT('/v3/rest/people', {
      body: { email: 'grace@example.com', boundary: 'external', company: { domain: 'example.com' } },
    }),
  )
  const path = { feedbackSourceId: source.id }
  const fields: Schemas['FeedbackField'][] = [
    { category: 'content', type: 'string', name: 'comment', value: 'The export is slow.' },
    { category: 'metadata', type: 'integer', name: 'score', value: 7 },
  ]
  const body = { person_id: person.id, external_id: 'ticket-1', fields }
  const created = unwrap(
    await client.POST('/v3/rest/feedback-sources/{feedbackSourceId}/records', { params: { path }, body }),
  )
  const again = await client.POST('/v3/rest/feedback-sources/{feedbackSourceId}/records', {
    params: { path },
    body,
  })
  const read = unwrap(
    await client.GET('/v3/rest/feedback-sources/{feedbackSourceId}/records/{feedbackRecordId}', {
      params: { path: { ...path, feedbackRecordId: created.id } },
    }),
  )
  const known: number | undefined = again.error?.recordId
  const code: Schemas['Error']['code'] | undefined = again.error?.code
  return { isSame: known === created.id, code, names: read.fields.map(({ name }) => name) }
}

export async function administer({ baseUrl, apiKey }: Access) {
  const client = createClient<paths>({ baseUrl, headers: { 'X-Service-Api-Key': apiKey } })
  const application = unwrap(
    await client.POST('/v3/rest/agent-applications', {
      body: {
        agentKey: 'typed',
        name: 'Typed',
        settings: { retentionDays: null, conversationAccess: { type: 'workspace' } },
      },
    }),
  )
  const { settings } = application
  const access: string = settings.conversationAccess.type
  const refused = await client.PATCH('/v3/rest/agent-applications/{applicationId}', {
    params: { path: { applicationId: application.id } },
    body: { settings: { retentionDays: 0 } },
  })
  return {
    access,
    days: settings.retentionDays,
    details: refused.error?.details?.map(({ code }) => code) ?? [],
  }
}

export async function askWebsite({ baseUrl }: Access) {
  const client = createClient<paths>({ baseUrl })
  const { success } = unwrap(
    await client.POST('/api/contact', {
      body: { name: 'Ann', email: 'ann@example.com', inquiryType: 'sales', message: 'Can we talk?' },
    }),
  )
  const refused = await client.POST('/api/mobile-reminder', { body: { email: 'nobody' } })
  return { success, title: refused.error?.title ?? null }
}
