/** Reads pages of a source and appends their conversations. */
import type { LongTurn } from '../../../actors/types.ts'
import { databaseTime } from '../../../platform/db/database-time.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Ingest } from '../../agents/ingest/service.ts'
import type { AppendRequest } from '../../agents/request-model.ts'
import { type Refusal, sendConversation } from '../append-requests.ts'
import { SourceError, type SourceHttp } from '../providers/http.ts'
import type { ImportedConversation, Item, Provider } from '../providers/provider.ts'
import { requestsBySession } from '../requests.rules.ts'
import { type DueSource, type Position, recordProgress, type SourceRef } from './store.ts'

/** Conversations that are read at the same time, and recorded together. */
const TOGETHER = 4

/** Failures of the source in a row after which a conversation is left out: about seven minutes. */
const ATTEMPTS = 3

export interface ReadingOptions {
  readonly turn: LongTurn
  readonly ref: SourceRef
  readonly source: DueSource
  readonly provider: Provider<Item>
  readonly http: SourceHttp
  readonly agentKey: string
  readonly append: Ingest['append']
  /** True when the turn has to end. */
  readonly isOver: () => boolean
}

export interface Reading extends ReadingOptions {
  readonly store: (conversation: ImportedConversation, receivedAt: string) => Promise<Stored>
  /** By the clock of the database. */
  readonly now: () => Promise<string>
}

interface Stored {
  readonly messages: number
  readonly refused: number
}

/** The source was deleted meanwhile. */
class Deleted extends Error {}

export function createReading(options: ReadingOptions): Reading {
  return {
    ...options,
    store: (conversation, receivedAt) => storeConversation(options, conversation, receivedAt),
    now: () => options.turn.read(databaseTime),
  }
}

/** @returns true if nothing newer is known. @throws SourceError; SourcePause */
export async function readPages(reading: Reading): Promise<boolean> {
  const { provider, http, source, isOver } = reading
  let position = source.position ?? { cursor: null, done: [] }
  try {
    for (;;) {
      const page = await provider.page(http, position.cursor, source.since)
      const isStored = await storePage(reading, position, page.items)
      if (!isStored) return false
      position = { cursor: page.cursor, done: [] }
      await record(reading, position, 0, { messages: 0, refused: 0 })
      if (page.isLast) return true
      if (isOver()) return false
    }
  } catch (error) {
    if (error instanceof Deleted) return true
    throw error
  }
}

/** @returns false if the turn has to end before all items are stored */
async function storePage(
  reading: Reading,
  { cursor, done }: Position,
  items: readonly Item[],
): Promise<boolean> {
  const known = new Set(done)
  const left = items.filter(({ key }) => !known.has(key))
  for (let start = 0; start < left.length; start += TOGETHER) {
    if (start > 0 && reading.isOver()) return false
    const some = left.slice(start, start + TOGETHER)
    const ends = await Promise.allSettled(some.map((item) => readItem(reading, item)))
    let sum = { messages: 0, refused: 0 }
    let conversations = 0
    for (const [index, end] of ends.entries()) {
      if (end.status === 'rejected' && !isLeftOut(reading, end.reason)) continue
      known.add((some[index] as Item).key)
      if (end.status === 'rejected') {
        sum = { ...sum, refused: sum.refused + 1 }
        continue
      }
      if (end.value === null) continue
      conversations++
      sum = { messages: sum.messages + end.value.messages, refused: sum.refused + end.value.refused }
    }
    await record(reading, { cursor, done: [...known] }, conversations, sum)
    // What succeeded is recorded first, so that an item that fails does not hold up the others.
    for (const end of ends) if (end.status === 'rejected' && !isLeftOut(reading, end.reason)) throw end.reason
  }
  return true
}

/** A conversation that cannot be read after several attempts is left out, so that it does not hold up the others for ever. */
function isLeftOut({ source }: Reading, reason: unknown): boolean {
  return reason instanceof SourceError && reason.code === 'unexpected_answer' && source.failures >= ATTEMPTS
}

/** What the provider answers counts as received when it was asked: an erasure that began meanwhile erases it. */
async function readItem({ provider, http, store, now }: Reading, item: Item): Promise<Stored | null> {
  const askedAt = await now()
  const conversation = await provider.conversation(http, item)
  return conversation === null ? null : store(conversation, askedAt)
}

async function record(
  { turn, ref }: Reading,
  position: Position,
  conversations: number,
  { messages, refused }: Stored,
): Promise<void> {
  turn.signal.throwIfAborted()
  const progress = { position, conversations, messages, refused }
  if (!(await turn.step((tx) => recordProgress(tx, ref, progress)))) throw new Deleted()
}

async function storeConversation(
  { turn, ref, source, agentKey, append }: ReadingOptions,
  conversation: ImportedConversation,
  receivedAt: string,
): Promise<Stored> {
  const principal = {
    kind: 'agent',
    organizationId: ref.organizationId,
    applicationId: source.applicationId,
    secretId: '',
  } as const
  const counts = { imported: 0, duplicates: 0, revised: 0 }
  const refused = new Set<number>()
  const send = async (request: AppendRequest) => {
    turn.signal.throwIfAborted()
    const body = Buffer.from(JSON.stringify(request))
    return append(principal, async () => [body], receivedAt).catch(refusalOf)
  }
  // Every message is a line of its own, so that one that is refused does not hold up the others.
  const parts = conversation.events.map((event, line) => ({ ...conversation, events: [event], line }))
  const { status, members } = conversation
  const defaults = { agentKey, status, environment: source.environment ?? undefined, members }
  for (const requests of requestsBySession(parts.map((part) => ({ ...part, members: {} }))))
    await sendConversation({ send, defaults }, requests, counts, (line) => refused.add(line))
  if (refused.size > 0)
    turn.log.warn({ sourceId: ref.id, refused: refused.size }, 'imported messages refused')
  return { messages: counts.imported, refused: refused.size }
}

const TRY_AGAIN: ReadonlySet<string> = new Set(['unavailable', 'internal_error', 'rate_limited'])

/** @throws errors that a repetition may not meet, and those that every conversation would meet */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof AppError) || TRY_AGAIN.has(error.code)) throw error
  if (error.code === 'agent_chats_disabled' || error.code === 'quota_exceeded')
    throw new SourceError(error.code)
  const { eventIndex } = error.extra
  return { event: typeof eventIndex === 'number' ? eventIndex : null, reason: error.message }
}
