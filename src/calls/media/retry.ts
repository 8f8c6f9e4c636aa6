/**
 * Retries media that was given up, when an operator asks for it.
 *
 * Media can be retried if its bytes or its URL were kept, which is the case when the file was not the cause. Two
 * requests lead to one retry. If the message of running work was deleted, it is sent again.
 */

import { isPresent, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { NewMessage } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import type { Tx } from '../../platform/db/pool.ts'
import * as assets from '../assets/service.ts'
import { findProcessed, processAgain, recordingsToProcessAgain } from '../uploads/processing.ts'

/**
 * `queued`: will be processed again. `under_way`: already being processed. Refused: `unknown`, no such recording;
 * `completed`, the media is published; `awaited`, bytes are still missing; `gone`, neither bytes nor URL were kept.
 */
export type Retried = 'queued' | 'under_way' | 'unknown' | 'completed' | 'awaited' | 'gone'

type RetryDeps = Pick<Deps, 'sql' | 'notifier'>

/** Retries the media of one recording. */
export function retryMedia(deps: RetryDeps, recording: assets.Subject): Promise<Retried> {
  return transactionWithOutbox(deps, async (tx, outbox) => {
    const asset = await assets.lockAsset(tx, recording)
    if (asset === undefined) return 'unknown'
    const next = await nextMessage(tx, recording, asset)
    if (typeof next === 'string') return next
    await outbox.send([next])
    return 'queued'
  })
}

/** Retries all failed media of the organization that can be retried. @returns the number of recordings */
export async function retryFailedMedia(deps: RetryDeps, organizationId: string): Promise<number> {
  const recordings = new Set([
    ...(await recordingsToProcessAgain(deps.sql, organizationId)),
    ...(await assets.recordingsToFetchAgain(deps.sql, organizationId)),
  ])
  let count = 0
  for (const recordingId of recordings)
    if ((await retryMedia(deps, { organizationId, recordingId })) === 'queued') count++
  return count
}

/** The caller has locked the recording. @returns the message to send, or why there is none */
async function nextMessage(
  tx: Tx,
  recording: assets.Subject,
  asset: assets.LockedAsset,
): Promise<NewMessage | Exclude<Retried, 'queued'>> {
  switch (asset.status) {
    case 'completed':
      return asset.hasUrl
        ? resendIfMissing(tx, recording, asset)
        : ((await replacement(tx, recording)) ?? 'completed')
    case 'failed':
    case 'cancelled':
      return (await startAgain(tx, recording)) ?? 'gone'
    case null:
      return 'gone'
    default:
      return resendIfMissing(tx, recording, asset)
  }
}

/**
 * An upload that was to replace the media, and was given up or is being processed. The current media stays meanwhile.
 */
async function replacement(tx: Tx, recording: assets.Subject): Promise<NewMessage | 'under_way' | null> {
  const underWay = await findProcessed(tx, recording)
  if (underWay !== null) return unlessQueued(tx, processing(recording, underWay))
  const uploadId = await processAgain(tx, recording)
  return uploadId === null ? null : processing(recording, uploadId)
}

async function startAgain(tx: Tx, recording: assets.Subject): Promise<NewMessage | null> {
  const uploadId = await processAgain(tx, recording)
  if (uploadId !== null) {
    await assets.moveAsset(tx, recording, 'processAgain')
    return processing(recording, uploadId)
  }
  return (await assets.fetchAgain(tx, recording)) ? fetching(recording) : null
}

/** Running work has a message, unless an operator deleted it. */
async function resendIfMissing(
  tx: Tx,
  recording: assets.Subject,
  { hasUrl }: assets.LockedAsset,
): Promise<NewMessage | 'under_way' | 'awaited'> {
  const uploadId = await findProcessed(tx, recording)
  if (uploadId === null && !hasUrl) return 'awaited'
  return unlessQueued(tx, uploadId === null ? fetching(recording) : processing(recording, uploadId))
}

async function unlessQueued(tx: Tx, message: NewMessage): Promise<NewMessage | 'under_way'> {
  return (await isPresent(tx, message.key, message.type)) ? 'under_way' : message
}

const fetching = ({ recordingId, organizationId }: assets.Subject): NewMessage =>
  recordingMessages.message(recordingId, 'ingest_url', { organizationId })

const processing = ({ recordingId, organizationId }: assets.Subject, uploadId: string): NewMessage =>
  recordingMessages.message(recordingId, 'process_upload', { payload: { uploadId }, organizationId })
