/**
 * Stores processed files as objects.
 *
 * Each attempt uses its own keys, and enters them as garbage before it puts the objects. The transaction that publishes
 * the media removes the entries. So an attempt leaves either published objects or nothing.
 */
import { stat } from 'node:fs/promises'
import type { LongTurn } from '../../actors/types.ts'
import type { ObjectStore } from '../../platform/storage/storage.ts'
import type { Subject } from '../assets/service.ts'
import type { MadeFile, Processed } from './process.ts'
import { enterGarbage, type StoredMedia } from './store.ts'

export interface Place {
  readonly subject: Subject
  /** Id of the attempt. */
  readonly id: string
  /** Key of the source if it is already an object; null: it is not. */
  readonly sourceKey: string | null
}

/** Resolves once all objects are durable. */
export async function storeMedia(
  storage: ObjectStore,
  turn: LongTurn,
  { subject, id, sourceKey }: Place,
  made: Processed,
): Promise<StoredMedia> {
  const keyOf = (name: string) => `recordings/${subject.recordingId}/${id}/${name}`
  const puts: (MadeFile & { readonly key: string })[] = []
  const put = (name: string, file: MadeFile | null) => {
    if (file === null) return null
    puts.push({ key: keyOf(name), ...file })
    return keyOf(name)
  }
  const source = sourceKey ?? keyOf('source')
  if (sourceKey === null) put('source', made.source)
  const playback = put('playback', made.playback)
  const stored = {
    objectKey: playback ?? source,
    sourceKey: playback === null ? null : source,
    waveformKey: put('waveform.json', made.waveform),
    posterKey: put('poster.jpg', made.poster),
    entered: puts.map(({ key }) => key),
    contentType: (made.playback ?? made.source).contentType,
    isAudio: made.isAudio,
    durationSeconds: made.durationSeconds,
    fileSize: made.fileSize,
    sourceBytes: playback === null ? null : (await stat(made.source.path)).size,
  }
  if (puts.length > 0) await turn.step((tx) => enterGarbage(tx, subject, stored.entered))
  for (const { key, path, contentType } of puts)
    await storage.putFile(key, path, { contentType, signal: turn.signal })
  return stored
}
