/** Reads what is analysed, of any channel. Each has at most the first message and the newest 200, and of each the first 4,000 code units. */
import { textOf } from '../analyze/text.ts'
import type { Channel } from '../insight/model.ts'
import type { Query } from '../platform/db/pool.ts'
import { type Item, itemsOfFields, itemsOfSpeech, NEWEST } from './source.rules.ts'
import * as store from './source.store.ts'
import type { Source } from './source.ts'

/** The subjects that exist. */
export async function readSources(
  tx: Query,
  subjects: readonly { readonly channel: Channel; readonly id: string }[],
): Promise<readonly Source[]> {
  const idsOf = (channel: Channel) => subjects.filter((one) => one.channel === channel).map(({ id }) => id)
  const [sessions, records, recordings] = await Promise.all([
    readConversations(tx, idsOf('conversation')),
    readFeedback(tx, idsOf('feedback').map(Number)),
    readRecordings(tx, idsOf('recording')),
  ])
  return [...sessions, ...records, ...recordings]
}

export async function readConversations(tx: Query, ids: readonly string[]): Promise<readonly Source[]> {
  if (ids.length === 0) return []
  const [sessions, messages] = await Promise.all([
    store.readSessions(tx, ids),
    store.readMessages(tx, ids, NEWEST),
  ])
  const bySession = Map.groupBy(messages, ({ sessionId }) => sessionId)
  return sessions.map(({ captureContent: isCaptured, ...session }) =>
    sourceOf(
      { ...session, isCaptured, channel: 'conversation' },
      isCaptured ? once(bySession.get(session.id) ?? []).flatMap(itemsOfMessage) : [],
    ),
  )
}

const once = (messages: readonly store.MessageRow[]) =>
  messages.filter(({ sequence }, index) => messages[index - 1]?.sequence !== sequence)

function itemsOfMessage({ content, own, sessionId: _, ...place }: store.MessageRow): readonly Item[] {
  const text = textOf(content)
  return text === '' ? [] : [{ said: { own, text }, place }]
}

async function readFeedback(tx: Query, ids: readonly number[]): Promise<readonly Source[]> {
  if (ids.length === 0) return []
  return (await store.readRecords(tx, ids)).map(({ id, fields, personId, ...record }) =>
    sourceOf(
      { ...record, ...NO_AGENT, channel: 'feedback', id: String(id) },
      itemsOfFields(fields, record.occurredAt, personId),
    ),
  )
}

async function readRecordings(tx: Query, ids: readonly string[]): Promise<readonly Source[]> {
  if (ids.length === 0) return []
  const [recordings, speech] = await Promise.all([store.readRecordings(tx, ids), store.readSpeech(tx, ids)])
  const byRecording = Map.groupBy(speech, ({ recordingId }) => recordingId)
  return recordings.map((recording) =>
    sourceOf(
      { ...recording, ...NO_AGENT, channel: 'recording' },
      itemsOfSpeech(byRecording.get(recording.id) ?? []),
    ),
  )
}

const NO_AGENT = { isCaptured: true, applicationId: null, productArea: null, agentVersion: null }

const sourceOf = (source: Omit<Source, 'said' | 'places'>, items: readonly Item[]): Source => ({
  ...source,
  said: items.map(({ said }) => said),
  places: items.map(({ place }) => place),
})
