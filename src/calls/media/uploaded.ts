/**
 * Ingests media of an upload in the recording's actor: make the bytes an object, process it, publish it.
 *
 * Upload and asset end in one transaction. If the file is the cause of a failure, both fail and the file is deleted.
 * Other failures are retried for hours. After that both fail, but the file is kept for an operator. Attempts do not
 * repeat what earlier attempts have done with the bytes.
 *
 * If the recording already has media, its asset is not changed until the new media is published. The old media stays
 * playable, and remains if the new file fails.
 */

import { join } from 'node:path'
import type { PayloadOf } from '../../actors/declaration.ts'
import { Fenced, type GiveUp, type LongHandler, type LongTurn } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { AssetErrorCode } from '../assets/rules.ts'
import { lockAsset, moveAsset } from '../assets/service.ts'
import { discardAutomaticTranscript, type RequestTranscription } from '../transcripts/requests.ts'
import {
  beginProcessing,
  moveUpload,
  type ProcessedUpload,
  recordEncodeProgress,
} from '../uploads/processing.ts'
import { storeMedia } from './objects.ts'
import type { Process } from './process.ts'
import { MediaError } from './rules.ts'
import { garbageOf, publishAsset, type StoredMedia } from './store.ts'
import { withTemporaryFolder } from './temporary.ts'

export type UploadedDeps = Pick<Deps, 'storage' | 'newId' | 'clock'> & {
  readonly config: Pick<Deps['config'], 'dataDir'>
  readonly process: Process
  /** Called in the transaction that publishes the media, after the publication. */
  readonly requestTranscription: RequestTranscription
}

type UploadMessage = PayloadOf<typeof recordingMessages, 'process_upload'>

/** With the pauses between them, attempts last for hours, in which an operator can free disk space. */
export const PROCESS_ATTEMPTS = 60

/** The type before examination. The playback URL states the real type. */
const UNKNOWN_TYPE = 'application/octet-stream'

/** Handlers of the actor kind `recording`: `process_upload` {uploadId}, sent when the last byte is stored. */
export function uploadedHandlers(
  deps: UploadedDeps,
): Readonly<Record<'process_upload', LongHandler<UploadMessage>>> {
  return { process_upload: (turn) => processUpload(deps, turn) }
}

async function processUpload(deps: UploadedDeps, turn: LongTurn<UploadMessage>): Promise<void> {
  const begun = await turn.step(async (tx) => {
    const upload = await beginProcessing(tx, turn.message.payload.uploadId)
    return upload === null ? null : { upload, stale: await garbageOf(tx, upload) }
  })
  if (begun === null) return turn.finish(async () => {})
  const { upload, stale } = begun
  try {
    await deps.storage.delete(stale)
    const stored = await processAndStore(deps, turn, upload)
    await turn.finish(async (tx, send) => {
      if (!(await publish(tx, upload, stored))) throw new Error('the upload is no longer awaited')
      await deps.requestTranscription(tx, send, upload)
    })
  } catch (error) {
    if (error instanceof Fenced || turn.signal.aborted || !(error instanceof MediaError)) throw error
    turn.log.warn({ errorCode: error.code, err: error.message }, 'media failed')
    await turn.finish((tx) => end(tx, upload, 'fail', error.code))
  }
}

/** @returns false if the upload or the asset may not be published any more */
async function publish(tx: Tx, upload: ProcessedUpload, stored: StoredMedia): Promise<boolean> {
  if (!(await moveUpload(tx, upload, 'ready'))) return false
  const isReplaced = (await lockAsset(tx, upload))?.status === 'completed'
  if (!isReplaced) return publishAsset(tx, upload, stored)
  await discardAutomaticTranscript(tx, upload)
  return publishAsset(tx, upload, stored, 'replace')
}

async function processAndStore(
  { storage, ...deps }: UploadedDeps,
  turn: LongTurn,
  upload: ProcessedUpload,
): Promise<StoredMedia> {
  const { signal, log } = turn
  const { objectKey, recordingId } = upload
  await storage.incoming.publish(objectKey, upload.whole, UNKNOWN_TYPE)
  const id = deps.newId()
  const place = { folder: join(deps.config.dataDir, 'tmp'), recordingId, attempt: id }
  return withTemporaryFolder(place, async (folder) => {
    const { path, release } = await storage.localFile(objectKey, folder, signal)
    try {
      const made = await deps.process(path, {
        folder,
        signal,
        log,
        onEncode: () =>
          turn.step(async (tx) => {
            if (!(await moveUpload(tx, upload, 'encode'))) throw new Error('the upload is no longer awaited')
          }),
        onProgress: (percent) => showProgress(turn, upload, percent),
      })
      return await storeMedia(storage, turn, { subject: upload, id, sourceKey: objectKey }, made)
    } finally {
      await release()
    }
  })
}

/** A missing progress update does no harm. A brief database outage must not end hours of encoding. */
async function showProgress(turn: LongTurn, upload: ProcessedUpload, percent: number): Promise<void> {
  try {
    await turn.step((tx) => recordEncodeProgress(tx, upload, percent))
  } catch (error) {
    if (error instanceof Fenced) throw error
    turn.log.warn({ err: error }, 'could not record the progress')
  }
}

/** Handles a `process_upload` message that failed every time for reasons outside the file. The file is kept. */
export const giveUpUpload: GiveUp<UploadMessage> = async (message, tx) => {
  const upload = await beginProcessing(tx, message.payload.uploadId)
  if (upload !== null) await end(tx, upload, 'giveUp', 'processing_failed')
  return 'handled'
}

async function end(
  tx: Tx,
  upload: ProcessedUpload,
  event: 'fail' | 'giveUp',
  code: AssetErrorCode,
): Promise<void> {
  await moveUpload(tx, upload, event, 'processing_failed')
  await moveAsset(tx, upload, event, code)
}
