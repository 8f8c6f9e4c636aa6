/** Recorded traces, spans made by hand, and what became of them. */
import { readFileSync } from 'node:fs'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'
import type { KeptSpan, KeyValue, SentSpan, TraceRequest } from '../../src/hear/otlp/model.ts'
import { createTraceWork, type ReadTraces } from '../../src/hear/otlp/work.ts'
import type { Agent } from './agents.ts'
import { eventually } from './eventually.ts'
import type { TestServer } from './server.ts'

export const TRACES = '/v1/traces'
export const FRAMEWORKS = ['ai-sdk-7', 'openai-agents', 'langchain', 'langfuse'] as const
/** Recorded in Python (fixtures/otlp/record/python). */
export const PYTHON_FRAMEWORKS = [
  'python-langfuse',
  'python-litellm-otel',
  'python-openinference-langchain',
  'python-openinference-litellm',
  'python-openinference-openai',
  'python-openinference-openai-agents',
  'python-openllmetry-langchain',
  'python-openllmetry-openai',
  'python-pydantic-ai',
] as const

/** The requests of a recording, as the exporter sent them. */
export function recorded(
  name: (typeof FRAMEWORKS)[number] | (typeof PYTHON_FRAMEWORKS)[number],
): readonly TraceRequest[] {
  const file = new URL(`../fixtures/otlp/${name}.jsonl`, import.meta.url)
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The conversation that every framework had. */
export const CONVERSATION: readonly string[] = [
  'Hello, where is my order?',
  'Which order number do you have?',
  'It is 2041.',
  'Thank you. Order 2041 left our warehouse on Monday.',
  'When will it arrive?',
  'It arrives on Thursday.',
  'Can I change the address?',
  'Yes, until tomorrow evening.',
  'Please use the office address.',
  'I changed it to your office address.',
  'Thanks. Do you ship to Norway?',
  'Yes, shipping to Norway takes five days.',
  'How much does it cost?',
  'Shipping to Norway costs 12 euros.',
  'Where is the invoice?',
  'Under Settings, Billing, Invoices.',
  'I only see last year there.',
  'Please choose the year at the top of the page.',
  'That works, thanks!',
  'You are welcome.',
]

export const spansOf = ({ resourceSpans }: TraceRequest): readonly SentSpan[] =>
  (resourceSpans ?? []).flatMap(({ scopeSpans }) => (scopeSpans ?? []).flatMap(({ spans }) => spans ?? []))

/** A request with these spans. */
export const requestOf = (
  spans: readonly unknown[],
  resource: Readonly<Record<string, unknown>> = {},
): TraceRequest => ({
  resourceSpans: [
    { resource: { attributes: keyValues(resource) }, scopeSpans: [{ spans: spans as readonly SentSpan[] }] },
  ],
})

export function keyValues(members: Readonly<Record<string, unknown>>): readonly KeyValue[] {
  return Object.entries(members).map(([key, value]) => ({
    key,
    value:
      typeof value === 'number'
        ? { doubleValue: value }
        : { stringValue: typeof value === 'string' ? value : JSON.stringify(value) },
  }))
}

export const TRACE = '5b8aa5a2d2c872e8321cf37308d69df2'
/** A time of day in nanoseconds: `at(1)` is one second later than `at(0)`. */
export const at = (seconds: number): string =>
  `${1_767_340_800n + BigInt(Math.floor(seconds))}${String(Math.round((seconds % 1) * 1e9)).padStart(9, '0')}`

/** A span of one second, a root unless `more` names a parent. */
export function span(
  id: number,
  seconds: number,
  attributes: Readonly<Record<string, unknown>>,
  more: Partial<SentSpan> = {},
): SentSpan {
  return {
    traceId: TRACE,
    spanId: id.toString(16).padStart(16, '0'),
    name: 'span',
    startTimeUnixNano: at(seconds),
    endTimeUnixNano: at(seconds + 1),
    attributes: keyValues(attributes),
    ...more,
  }
}

export const parent = (id: number): Partial<SentSpan> => ({ parentSpanId: id.toString(16).padStart(16, '0') })

/** What is read of the bytes of a request in JSON. */
export function readRequest(bytes: Uint8Array, settings = DEFAULT_SETTINGS): ReadTraces {
  const input = { parts: [bytes], encoding: 'json' as const, applicationId: 'a', version: 1, settings }
  return createTraceWork().run(input, () => {})
}

/** What the service keeps of a request. */
export function kept(request: unknown, settings = DEFAULT_SETTINGS): readonly KeptSpan[] {
  const { pieces } = readRequest(Buffer.from(JSON.stringify(request)), settings)
  return pieces.flatMap(({ spans }) => JSON.parse(spans) as KeptSpan[])
}

/** Makes the messages of everything that arrived, without waiting until the traces have settled. */
export async function settle(server: TestServer): Promise<void> {
  const { sql } = server.database
  await sql`update otlp_trace set due_at = now() where due_at is not null`
  const task = server.features.maintenance.find(({ name }) => name === 'otlp_due')
  await task?.run(new AbortController().signal)
  await eventually(async () => (await sql`select 1 from otlp_trace where due_at is not null`).count === 0)
}

export interface StoredEvent {
  readonly session: string
  readonly externalEventId: string
  readonly type: string
  readonly occurredAt: Date
  readonly revision: number
  // biome-ignore lint/suspicious/noExplicitAny: stored JSON is for the test to judge
  readonly body: any
}

/** The events of an application in the order of their sessions. */
export function storedEvents(server: TestServer, { applicationId }: Pick<Agent, 'applicationId'>) {
  return server.database.sql<StoredEvent[]>`
    select s.external_session_id as session, e.external_event_id as "externalEventId", e.type,
      e.occurred_at as "occurredAt", e.revision, e.body
    from agent_event e
    join agent_session s on s.id = e.session_id
    where s.application_id = ${applicationId}
    order by s.external_session_id, e.sequence`
}
