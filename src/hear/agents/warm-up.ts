/**
 * Prepares a process for its first conversations: stores a conversation and runs its turns, in transactions that are rolled back. Then
 * connections are open, statements are parsed and planned, and the engine has compiled the code. So the first request is as fast as
 * later ones.
 *
 * It runs in the background while the process already serves requests. It leaves no data behind.
 */

import { type LongTurn, NO_ORGANIZATION } from '../../actors/types.ts'
import { warmUpTurn } from '../../actors/warm-up.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import { createAnalyzer } from '../../analysis/analyze/create.ts'
import type { Analyzer, Insight, Subject } from '../../analysis/analyze/insight.ts'
import type { Deps } from '../../kernel/deps.ts'
import { analysisMessages } from '../../kernel/messages/analysis.ts'
import { sessionMessages } from '../../kernel/messages/session.ts'
import { errorOfData } from '../../platform/concurrency/work.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { analysisActor } from './analysis/actor.ts'
import { insertApplication } from './applications/store.ts'
import { readSessions, writeGuarded } from './ingest/guarded.store.ts'
import { EVENTS_STORED, sessionWrite } from './ingest/locked.ts'
import { type Job, lookupOf, planJob } from './ingest/plan.ts'
import type { PreparedRequest } from './ingest/prepare.ts'
import { createIngestWork } from './ingest/work.ts'
import { listSignals, listSignalsOfSession } from './reads/signals.store.ts'
import { sessionActor } from './sessions/actor.ts'
import { DEFAULT_SETTINGS } from './settings.ts'

export interface WarmUpDeps
  extends Pick<
    Deps & AnalyzerDeps,
    'sql' | 'reads' | 'newId' | 'config' | 'modelServer' | 'textWork' | 'tokenBudget' | 'log'
  > {
  /** Makes an organization in the caller's transaction. */
  createOrganization(name: string, query: Query): Promise<{ readonly id: string }>
}

export interface WarmUp {
  /** For a process that takes requests. */
  requests(): Promise<void>
  /** For a worker thread. */
  turns(): Promise<void>
}

/** The number of connections that ingestion, or the turns of a thread, use at once. */
const CONNECTIONS = 2
/** Rounds on each connection. The engine compiles code only after it has run several times. */
const ROUNDS = 5

const NAME = 'warm-up'

/** Thrown to roll the transaction back. */
class RolledBack extends Error {
  override readonly name = 'RolledBack'
}

export function createWarmUp(deps: WarmUpDeps): WarmUp {
  return {
    async requests() {
      await Promise.all([warmUpRounds(deps, async () => {}), warmUpReads(deps)])
    },
    async turns() {
      await warmUpRounds(deps, (tx, sessionId) => takeTurns(deps, tx, sessionId))
      // The built-in analyser starts its process and loads its model. A configured analysis server gets no warm-up requests.
      if (deps.modelServer === null)
        await createAnalyzer(deps).analyze([SUBJECT], new AbortController().signal)
    },
  }
}

async function warmUpRounds(
  deps: WarmUpDeps,
  then: (tx: Tx, sessionId: string) => Promise<void>,
): Promise<void> {
  const once = () =>
    transaction(deps.sql, async (tx) => {
      await then(tx, await storeConversation(deps, tx))
      throw new RolledBack()
    }).catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error
    })
  const rounds = async () => {
    for (let round = 0; round < ROUNDS; round++) await once()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, rounds))
}

/** @returns the id of a session with messages of both sides, feedback, and a message to its actor */
async function storeConversation(deps: WarmUpDeps, tx: Tx): Promise<string> {
  const { newId } = deps
  const { id: organizationId } = await deps.createOrganization(NAME, tx)
  const applicationId = newId()
  const application = { id: applicationId, organizationId, agentKey: NAME, name: NAME }
  await insertApplication(tx, { ...application, settings: DEFAULT_SETTINGS })
  const current = { version: 1, settings: DEFAULT_SETTINGS }
  const key = { organizationId, applicationId, externalSessionId: NAME }
  const job: Job = { key, prepared: prepared(applicationId), current, older: new Map(), bytes: 0 }
  const seen = (await readSessions(tx, [key], [lookupOf(job)])).get(0)
  const creditsExhausted = seen?.creditsExhausted ?? false
  const plan = await planJob({ newId }, tx, 0, { ...job, creditsExhausted }, null, [])
  const write = {
    ...sessionWrite(plan),
    settingsVersion: 1,
    creditsExhausted,
    events: plan.decision.inserts,
  }
  const { done } = await writeGuarded(tx, [{ ...write, version: null }], EVENTS_STORED)
  // A second request, for the case of a remembered session.
  await writeGuarded(tx, [{ ...write, version: done.get(0) ?? 0, events: [] }], EVENTS_STORED)
  return plan.id
}

function prepared(applicationId: string): PreparedRequest {
  const body = { agentKey: NAME, externalSessionId: NAME, events: EVENTS }
  const parts = [new TextEncoder().encode(JSON.stringify(body))]
  const input = { parts, applicationId, version: 1, settings: DEFAULT_SETTINGS, mode: 'ingest' } as const
  const { outcome } = createIngestWork().judge.run(input, () => {})
  if ('refusal' in outcome) throw errorOfData(outcome.refusal)
  return outcome.prepared
}

async function takeTurns(deps: WarmUpDeps, tx: Tx, sessionId: string): Promise<void> {
  const session = sessionActor(deps)
  await warmUpTurn(tx, sessionMessages.key(sessionId), async (message, send) => {
    const handler = session.pool === 'short' ? session.handlers[message.type] : undefined
    if (typeof handler !== 'object') throw new Error(`no handler for ${message.type}`)
    await handler.visit([{ key: message.key, id: message.id, messages: [message] }], tx, send)
  })
  const analysis = analysisActor(deps, { first: FINDS_NOTHING, isComplete: true, together: true })
  const key = analysisMessages.key(sessionId)
  const turn: LongTurn = {
    message: { key, id: sessionId, seq: 1, type: 'analyze', payload: {}, attempts: 0 },
    organization: NO_ORGANIZATION,
    signal: new AbortController().signal,
    log: deps.log,
    read: (work) => work(tx),
    step: (work) => work(tx, async () => {}),
    finish: (work) => work(tx, async () => {}),
  }
  const handler = analysis.pool === 'short' ? undefined : analysis.handlers.analyze
  if (typeof handler === 'object')
    await handler.together({ ...turn, messages: [turn.message], organizations: [turn.organization] })
  else await handler?.(turn)
}

async function warmUpReads({ reads, newId }: WarmUpDeps): Promise<void> {
  const access = { reader: { organizationId: newId(), userId: null }, visibleRecording: reads`true` }
  await Promise.all([
    listSignals(reads, access, NO_FILTER, { after: null, limit: 1 }),
    listSignalsOfSession(reads, access, newId(), NO_FILTER, { after: null, limit: 1 }),
  ])
}

const NO_FILTER = { occurred: {}, created: {} }
/** Makes the actor read what it reads for the built-in analyser. */
const FINDS_NOTHING: Analyzer = {
  name: NAME,
  version: '',
  analyze: async (subjects) => subjects.map(() => NO_INSIGHT),
}
const NO_INSIGHT: Insight = {
  language: null,
  supported: true,
  outcome: null,
  sentiment: 'neutral',
  findings: [],
}

const SUBJECT: Subject = {
  channel: 'conversation',
  said: [
    { own: false, text: 'How do I export my data?' },
    { own: true, text: 'Under Settings, Export.' },
    { own: false, text: 'Thanks, that worked.' },
  ],
}

const event = (sequence: number, type: string, members: object) => ({
  externalEventId: `${sequence}`,
  sequence,
  revision: 1,
  occurredAt: '2026-01-02T09:00:00Z',
  type,
  ...members,
})

const EVENTS = [
  event(1, 'user_message', { content: 'How do I export my data?' }),
  event(2, 'assistant_message', { content: 'Under Settings, Export.' }),
  event(3, 'feedback', { feedback: { targetEventExternalId: '2', rating: 'positive' } }),
]
