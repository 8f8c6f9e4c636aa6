/**
 * Sessions of agent conversations, in the state in which their actors find them. SQL stores them as ingestion does, and
 * turns run directly in transactions.
 */

import { transactionWithOutbox } from '../../src/actors/mailbox.ts'
import {
  type ActorDefinition,
  type ActorKey,
  type LongTurn,
  type Message,
  type NewMessage,
  NO_ORGANIZATION,
} from '../../src/actors/types.ts'
import { type AgentSettings, DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'
import type { Json, Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { SILENT_NOTIFIER } from './identity.ts'

export interface TestApplication {
  readonly organizationId: string
  readonly applicationId: string
}

export interface TestEvent {
  readonly id: string
  readonly sequence: number
  readonly type: string
  readonly revision?: number
  readonly final?: boolean
  readonly body?: Json
  readonly settingsVersion?: number
}

export const user = (sequence: number, text = 'How do I export?'): TestEvent => ({
  id: `u${sequence}`,
  sequence,
  type: 'user_message',
  body: { content: text, participantExternalId: 'anna' },
})

export const assistant = (sequence: number, text = 'Open the menu.'): TestEvent => ({
  id: `a${sequence}`,
  sequence,
  type: 'assistant_message',
  body: { content: text, visible: true },
})

export const feedback = (
  sequence: number,
  target: string,
  body: { readonly [name: string]: Json } = { rating: 'positive' },
): TestEvent => ({
  id: `f${sequence}`,
  sequence,
  type: 'feedback',
  body: { feedback: { targetEventExternalId: target, ...body }, participantExternalId: 'anna' },
})

export async function createApplication(
  sql: Sql,
  options: { readonly credits?: number | null; readonly settings?: Partial<AgentSettings> } = {},
): Promise<TestApplication> {
  const organizationId = crypto.randomUUID()
  const applicationId = crypto.randomUUID()
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  await sql`
    insert into organization (id, name, response_credits) values (${organizationId}, 'Test', ${options.credits ?? null})`
  await sql`
    insert into agent_application (id, organization_id, agent_key, name)
    values (${applicationId}, ${organizationId}, ${`key-${applicationId}`}, 'Test')`
  await sql`
    insert into agent_application_settings (organization_id, application_id, version, settings)
    values (${organizationId}, ${applicationId}, 1, ${sql.json(settings as unknown as Json)})`
  return { organizationId, applicationId }
}

export async function createSession(sql: Sql, application: TestApplication): Promise<string> {
  const id = crypto.randomUUID()
  await sql`
    insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status)
    values (${id}, ${application.organizationId}, ${application.applicationId}, ${id}, 'open', 'pending')`
  return id
}

/** Stores or revises events, and marks late events. */
export async function storeEvents(sql: Sql, sessionId: string, events: readonly TestEvent[]): Promise<void> {
  const rows = events.map((event) => ({
    ...event,
    revision: event.revision ?? 1,
    final: event.final ?? true,
    body: event.body ?? {},
    settingsVersion: event.settingsVersion ?? 1,
  }))
  await transaction(sql, async (tx) => {
    await tx`select 1 from agent_session where id = ${sessionId} for update`
    await tx`
      insert into agent_event (
        organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
        fingerprint, settings_version
      )
      select s.organization_id, s.id, e.id, e.sequence, e.revision, e.type, e.final, now(), e.body, '', e."settingsVersion"
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as e (
        id text, sequence int8, revision int8, type text, final bool, body jsonb, "settingsVersion" int
      )
      join agent_session s on s.id = ${sessionId}
      on conflict (session_id, external_event_id) do update set
        revision = excluded.revision, final = excluded.final, body = excluded.body`
    await tx`
      insert into agent_late_event (organization_id, session_id, external_event_id)
      select e.organization_id, e.session_id, e.external_event_id
      from agent_event e join agent_session s on s.id = e.session_id
      where s.id = ${sessionId}
        and e.external_event_id = any(${rows.map((row) => row.id)}::text[])
        and e.sequence <= s.watermark
      on conflict do nothing`
    await tx`
      update agent_session set last_activity_at = now(), processing_status = 'pending'
      where id = ${sessionId}`
  })
}

function message(key: Message['key'], type: string): Message {
  return { key, id: key.slice(key.indexOf(':') + 1), seq: 1, type, payload: {}, attempts: 0 }
}

/** Runs turns of all sessions in one transaction, until no session has more to do. */
export async function runSessions(
  sql: Sql,
  definition: ActorDefinition,
  sessionIds: readonly string[],
  type = 'events_stored',
): Promise<{ readonly turns: number; readonly newMessages: readonly NewMessage[] }> {
  if (definition.pool !== 'short') throw new Error('not a short actor')
  const handler = definition.handlers[type]
  if (handler === undefined || typeof handler === 'function') throw new Error('not a bulk handler')
  const newMessages: NewMessage[] = []
  let keys = sessionIds.map((id): ActorKey => `session:${id}`).toSorted()
  for (let turns = 0; ; turns++) {
    if (keys.length === 0) return { turns, newMessages }
    const visits = keys.map((key) => ({ ...message(key, type), messages: [message(key, type)] }))
    const again = await transaction(sql, async (tx) => {
      const sent: NewMessage[] = []
      const more = await handler.visit(visits, tx, async (some) => void sent.push(...some))
      newMessages.push(...sent)
      return more
    })
    keys = keys.filter((key) => again.has(key))
  }
}

/** Runs a session's turns until nothing is left to do. @returns the number of turns, and the messages that they sent */
export function runSession(sql: Sql, definition: ActorDefinition, sessionId: string, type?: string) {
  return runSessions(sql, definition, [sessionId], type)
}

/** Runs analysis turns until one sends no message to itself. @returns the number of turns */
export async function runAnalysis(
  sql: Sql,
  definition: ActorDefinition,
  sessionId: string,
  type: 'analyze' | 'conversation' = 'analyze',
): Promise<number> {
  for (let turns = 1; ; turns++) {
    const { sent } = await runLongTurn(sql, definition, sessionId, type)
    if (!sent.some((one) => one.type === 'analyze')) return turns
  }
}

/** Runs one long turn of the actor of this id. @returns the messages that it sent */
export async function runLongTurn(
  sql: Sql,
  definition: ActorDefinition,
  id: string,
  type: string,
  organization: string = NO_ORGANIZATION,
): Promise<{ readonly sent: readonly NewMessage[] }> {
  const handler = definition.pool === 'short' ? undefined : definition.handlers[type]
  if (handler === undefined) throw new Error('not a long turn')
  const alone = typeof handler === 'function' ? handler : handler.alone
  const sent: NewMessage[] = []
  const inTransaction: LongTurn['step'] = (work) =>
    transaction(sql, (tx) => work(tx, async (some) => void sent.push(...some)))
  await alone({
    message: message(`${definition.kind}:${id}`, type),
    organization,
    signal: new AbortController().signal,
    log: createLog('silent', 'test'),
    read: (work) => transaction(sql, work, 'read only'),
    step: inTransaction,
    finish: inTransaction,
  })
  return { sent }
}

/** Gives up an analysis, as the runtime does after the last attempt. */
export async function giveUpAnalysis(
  sql: Sql,
  definition: ActorDefinition,
  sessionId: string,
): Promise<readonly NewMessage[]> {
  const newMessages: NewMessage[] = []
  await transaction(sql, (tx) =>
    definition.giveUp!(
      message(`analysis:${sessionId}`, 'analyze'),
      tx,
      async (sent) => void newMessages.push(...sent),
      'failed',
    ),
  )
  return newMessages
}

/** Puts messages into mailboxes, as a use case does. */
export async function sendMessages(sql: Sql, newMessages: readonly NewMessage[]): Promise<void> {
  await transactionWithOutbox({ sql, notifier: SILENT_NOTIFIER }, (_, outbox) => outbox.send(newMessages))
}

export async function sessionRow(sql: Sql, id: string) {
  const [row] = await sql<
    {
      status: string
      processingStatus: string
      watermark: number
      gapsPermanentThrough: number | null
      gapDeadline: Date | null
    }[]
  >`
    select
      status, processing_status as "processingStatus", watermark, gaps_permanent_through as "gapsPermanentThrough",
      gap_deadline as "gapDeadline"
    from agent_session where id = ${id}`
  return row!
}

export interface TestSignal {
  readonly id: string
  readonly source: string
  readonly kind: string
  readonly rating: string | null
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly event: string
  readonly target: string | null
  readonly revision: number
  readonly participant: string | null
}

/** The signals of a session, in order of sequence and kind. */
export async function signalRows(sql: Sql, sessionId: string): Promise<TestSignal[]> {
  const rows = await sql<TestSignal[]>`
    select
      id, source, kind, rating, labels, comment, external_event_id as event, target_event_external_id as target, revision,
      participant_external_id as participant
    from agent_signal where session_id = ${sessionId} order by sequence, kind`
  return [...rows]
}

/** `event state` of each response, in order of sequence. */
export async function responseStates(sql: Sql, sessionId: string): Promise<readonly string[]> {
  const rows = await sql<{ event: string; state: string }[]>`
    select external_event_id as event, state from agent_response where session_id = ${sessionId} order by sequence`
  return rows.map((row) => `${row.event} ${row.state}`)
}

/** The events that have a unit in the ledger, in order of sequence. */
export async function ledger(sql: Sql, sessionId: string): Promise<readonly string[]> {
  const rows = await sql<{ event: string }[]>`
    select u.external_event_id as event
    from agent_usage u left join agent_event e using (session_id, external_event_id)
    where session_id = ${sessionId} order by e.sequence`
  return rows.map((row) => row.event)
}

export async function creditsOf(sql: Sql, { organizationId }: TestApplication): Promise<number | null> {
  const [row] = await sql<{ credits: number | null }[]>`
    select response_credits as credits from organization where id = ${organizationId}`
  return row!.credits
}
