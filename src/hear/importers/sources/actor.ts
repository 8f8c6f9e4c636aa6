/**
 * The actor of an import source reads pages of changed conversations and appends their messages.
 *
 * An append recognises what it has stored, so a page that is read again after an interruption changes nothing. What was stored of a page
 * is recorded every few conversations, and the provider's cursor moves when the whole page is stored. Both are fenced: a worker that
 * lost its actor cannot move them. A turn ends after a while, so that other sources get its place.
 */
import { defineActor } from '../../../actors/declaration.ts'
import { limitTransactions } from '../../../actors/limit-transactions.ts'
import type { ActorDefinition, LongTurn, Send } from '../../../actors/types.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { importSourceMessages } from '../../../kernel/messages/import-source.ts'
import { Semaphore, withPermit } from '../../../platform/concurrency/semaphore.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { createSendOutbound, type SendOutbound } from '../../../platform/net/outbound-request.ts'
import type { Seal } from '../../../platform/secrets/seal.ts'
import type { Applications } from '../../agents/applications/service.ts'
import type { Ingest } from '../../agents/ingest/service.ts'
import { providerOf } from '../providers/all.ts'
import { createSourceHttp, SourceError, SourcePause } from '../providers/http.ts'
import { createReading, type Reading, readPages } from './reading.ts'
import { createSourceSeal } from './service.ts'
import * as store from './store.ts'

/** A turn begins no page and no conversation after this time. */
const TURN_MS = 20_000
const TURN_TIMEOUT_MS = 10 * 60_000
/** Of all sources in a process: their turns mostly wait for help desks, and there are many more of them than connections. */
const TRANSACTIONS_AT_ONCE = 4
/** Failures of the database or of the process, not of help desks. */
const MAX_ATTEMPTS = 60
/** Pause if the provider does not say how long. */
const PAUSE_SECONDS = 60
const RETRY = { firstSeconds: 60, maxSeconds: 6 * 60 * 60 }

export type ImportSourceActorDeps = Pick<Deps, 'config' | 'clock' | 'outbound'> & {
  readonly append: Ingest['append']
  readonly applications: Pick<Applications, 'loadForIngest'>
}

interface Tools extends ImportSourceActorDeps {
  readonly seal: Seal
  readonly send: SendOutbound
  readonly transactions: Semaphore
}

export function importSourceActor(deps: ImportSourceActorDeps): ActorDefinition {
  const tools = {
    ...deps,
    seal: createSourceSeal(deps.config),
    send: createSendOutbound({ policy: deps.outbound }),
    transactions: new Semaphore(TRANSACTIONS_AT_ONCE),
  }
  return defineActor(importSourceMessages, {
    maxAttempts: MAX_ATTEMPTS,
    turnTimeoutMsOf: { read: TURN_TIMEOUT_MS },
    handlers: { read: (turn) => read(tools, limitTransactions(turn, tools.transactions)) },
  })
}

async function read(tools: Tools, turn: LongTurn): Promise<void> {
  const ref = { organizationId: turn.organization, id: turn.message.id }
  const source = await turn.read((tx) => store.findDueSource(tx, ref))
  if (source === null) return turn.finish(async () => {})
  try {
    const isCaughtUp = await readPages(await readingOf(tools, turn, ref, source))
    await turn.finish((tx, send) =>
      isCaughtUp ? store.recordCaughtUp(tx, ref, source) : goOn(tx, send, ref),
    )
  } catch (error) {
    turn.signal.throwIfAborted()
    if (error instanceof SourcePause)
      return turn.finish((tx) => store.recordPause(tx, ref, error.seconds ?? PAUSE_SECONDS))
    if (!(error instanceof SourceError)) throw error
    turn.log.warn({ sourceId: ref.id, code: error.code }, 'import source failed')
    await turn.finish((tx) => store.recordFailure(tx, ref, source, error.code, RETRY))
  }
}

async function goOn(tx: Tx, send: Send, { organizationId, id }: store.SourceRef): Promise<void> {
  await store.recordMore(tx, { organizationId, id })
  await send([importSourceMessages.message(id, 'read', { organizationId })])
}

async function readingOf(
  { seal, send, clock, append, applications, transactions }: Tools,
  turn: LongTurn,
  ref: store.SourceRef,
  source: store.DueSource,
): Promise<Reading> {
  const provider = providerOf(source.provider)
  const secret = await seal.open(source.secret, ref.id)
  // The key of the service is another one than when the source was created.
  if (secret === null) throw new SourceError('unauthorized')
  const { url, account } = source
  const http = createSourceHttp({
    send,
    connected: provider.connect({ url, account, secret }),
    signal: turn.signal,
    now: () => clock.now(),
  })
  const { agentKey } = await applications.loadForIngest(ref.organizationId, source.applicationId)
  const until = clock.now().getTime() + TURN_MS
  return createReading({
    turn,
    ref,
    source,
    provider,
    http,
    agentKey,
    append: (principal, readBody, receivedAt) =>
      withPermit(transactions, turn.signal, () => append(principal, readBody, receivedAt)),
    isOver: () => clock.now().getTime() >= until,
  })
}
