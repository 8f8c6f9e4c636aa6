/**
 * Media that was given up, tried again on an operator's word.
 *
 * The rule: only what failed through no fault of its own can be: then its bytes, or its URL, are still there. Asked for twice, it
 * is done once; and a message that somebody has dropped meanwhile is sent anew.
 */
import { isWaiting, transactionWithMail } from '../actors/mailbox.ts'
import type { ActorKey, Letter } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import { findProcessed, processAgain, recordingsToProcessAgain } from '../uploads/processing.ts'
import * as store from './store.ts'

/**
 * `queued`: it is processed again. `under_way`: it is already. Refused: `unknown`, there is no such recording; `completed`, its media
 * is there; `awaited`, its bytes have not all come; `gone`, nothing is there of which media could be made.
 */
export type Retried = 'queued' | 'under_way' | 'unknown' | 'completed' | 'awaited' | 'gone'

type RetryDeps = Pick<Deps, 'sql' | 'doorbell'>

/** Of one recording. */
export function retryMedia(deps: RetryDeps, recording: store.Subject): Promise<Retried> {
  return transactionWithMail(deps, async (tx, outbox) => {
    const asset = await store.lockAsset(tx, recording)
    if (asset === undefined) return 'unknown'
    const next = await again(tx, recording, asset)
    if (typeof next === 'string') return next
    await outbox.send([next])
    return 'queued'
  })
}

/** Of every recording of the organization whose media has failed and can be tried again. @returns how many */
export async function retryFailedMedia(deps: RetryDeps, organizationId: string): Promise<number> {
  const recordings = new Set([
    ...(await recordingsToProcessAgain(deps.sql, organizationId)),
    ...(await store.recordingsToFetchAgain(deps.sql, organizationId)),
  ])
  let count = 0
  for (const recordingId of recordings)
    if ((await retryMedia(deps, { organizationId, recordingId })) === 'queued') count++
  return count
}

/** Under the lock of the recording. @returns the message that is to be sent, or why there is none */
async function again(
  tx: Tx,
  recording: store.Subject,
  asset: store.LockedAsset,
): Promise<Letter | Exclude<Retried, 'queued'>> {
  switch (asset.status) {
    case 'completed':
      return asset.hasUrl ? goOn(tx, recording, asset) : ((await replacement(tx, recording)) ?? 'completed')
    case 'failed':
    case 'cancelled':
      return (await fromTheEnd(tx, recording)) ?? 'gone'
    case null:
      return 'gone'
    default:
      return goOn(tx, recording, asset)
  }
}

/** An upload that was to replace the media, and was given up or is being processed. The media stays as it is meanwhile. */
async function replacement(tx: Tx, recording: store.Subject): Promise<Letter | 'under_way' | null> {
  const underWay = await findProcessed(tx, recording)
  if (underWay !== null) return unlessWaiting(tx, processing(recording, underWay))
  const uploadId = await processAgain(tx, recording)
  return uploadId === null ? null : processing(recording, uploadId)
}

async function fromTheEnd(tx: Tx, recording: store.Subject): Promise<Letter | null> {
  const uploadId = await processAgain(tx, recording)
  if (uploadId !== null) {
    await store.moveAsset(tx, recording, 'processAgain')
    return processing(recording, uploadId)
  }
  return (await store.fetchAgain(tx, recording)) ? fetching(recording) : null
}

/** What is under way has its message, unless somebody has dropped it. */
async function goOn(
  tx: Tx,
  recording: store.Subject,
  { hasUrl }: store.LockedAsset,
): Promise<Letter | 'under_way' | 'awaited'> {
  const uploadId = await findProcessed(tx, recording)
  if (uploadId === null && !hasUrl) return 'awaited'
  return unlessWaiting(tx, uploadId === null ? fetching(recording) : processing(recording, uploadId))
}

async function unlessWaiting(tx: Tx, message: Letter): Promise<Letter | 'under_way'> {
  return (await isWaiting(tx, message.key, message.type)) ? 'under_way' : message
}

const actorOf = ({ recordingId }: store.Subject): ActorKey => `recording:${recordingId}`

const fetching = (recording: store.Subject): Letter => ({
  key: actorOf(recording),
  type: 'ingest_url',
  organizationId: recording.organizationId,
})

const processing = (recording: store.Subject, uploadId: string): Letter => ({
  key: actorOf(recording),
  type: 'process_upload',
  payload: { uploadId },
  organizationId: recording.organizationId,
})
