/** Reads what is analysed: the text fields of a feedback record, or the turns of a transcript. */
import type { Query } from '../../platform/db/pool.ts'
import { type Item, itemsOfFields, itemsOfSpeech } from './source.rules.ts'
import * as store from './source.store.ts'
import type { Source } from './source.ts'

/** The subjects that exist. */
export async function readSources(
  tx: Query,
  subjects: readonly { readonly channel: Source['channel']; readonly id: string }[],
): Promise<readonly Source[]> {
  const idsOf = (channel: Source['channel']) =>
    subjects.filter((one) => one.channel === channel).map(({ id }) => id)
  const [records, recordings] = await Promise.all([
    readFeedback(tx, idsOf('feedback').map(Number)),
    readRecordings(tx, idsOf('recording')),
  ])
  return [...records, ...recordings]
}

async function readFeedback(tx: Query, ids: readonly number[]): Promise<readonly Source[]> {
  if (ids.length === 0) return []
  return (await store.readRecords(tx, ids)).map(({ id, fields, personId, ...record }) =>
    sourceOf(
      { ...record, channel: 'feedback', id: String(id) },
      itemsOfFields(fields, record.occurredAt, personId),
    ),
  )
}

async function readRecordings(tx: Query, ids: readonly string[]): Promise<readonly Source[]> {
  if (ids.length === 0) return []
  const [recordings, speech] = await Promise.all([store.readRecordings(tx, ids), store.readSpeech(tx, ids)])
  const byRecording = Map.groupBy(speech, ({ recordingId }) => recordingId)
  return recordings.map((recording) =>
    sourceOf({ ...recording, channel: 'recording' }, itemsOfSpeech(byRecording.get(recording.id) ?? [])),
  )
}

const sourceOf = (source: Omit<Source, 'said' | 'places'>, items: readonly Item[]): Source => ({
  ...source,
  said: items.map(({ said }) => said),
  places: items.map(({ place }) => place),
})
