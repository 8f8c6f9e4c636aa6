/**
 * The part of uploads that media processing uses.
 *
 * Call these functions within a fenced transaction of the recording's actor, with the upload from `beginProcessing`.
 * They leave an upload alone that was deleted or has ended meanwhile.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { IncomingRecord } from '../../platform/storage/incoming.ts'
import * as garbage from './garbage.store.ts'
import * as store from './processing.store.ts'
import type { ProcessingEvent, UploadErrorCode } from './rules.ts'
import { lockRecordingOf, type RecordingRef, type UploadRef } from './store.ts'

/** An upload whose bytes have all arrived. */
export interface ProcessedUpload extends Omit<store.BegunUpload, 'resumeState' | 'recordingId'> {
  readonly recordingId: string
  /** Argument of `IncomingStore.publish`. */
  readonly whole: IncomingRecord
}

/** An upload of a recording. */
type MediaRef = UploadRef & RecordingRef

/**
 * Begins an attempt, whatever an earlier one left. Locks the recording. Takes the id alone, because the actor's message
 * has nothing else.
 * @returns null if the upload was deleted or has ended
 */
export async function beginProcessing(tx: Tx, uploadId: string): Promise<ProcessedUpload | null> {
  await lockRecordingOf(tx, uploadId)
  const begun = await store.setProcessing(tx, uploadId)
  if (begun === null) return null
  const { resumeState, recordingId, ...upload } = begun
  if (recordingId === null) return null
  const parts = await store.partsOf(tx, upload)
  return { ...upload, recordingId, whole: { offset: upload.fileSize, resumeState, parts: [...parts] } }
}

/**
 * Changes the phase. The caller changes the asset in the same transaction. `fail` discards the file, even if it was
 * already published under the upload's key. `giveUp` keeps it. `ready` discards files kept from earlier uploads of the
 * recording.
 * @returns false if the upload is in no phase that the event may start from
 */
export async function moveUpload(
  tx: Tx,
  upload: MediaRef,
  event: ProcessingEvent,
  errorCode: UploadErrorCode | null = null,
): Promise<boolean> {
  await lockRecordingOf(tx, upload.id)
  if (!(await store.changePhase(tx, upload, event, errorCode))) return false
  if (event === 'fail') await garbage.discardUpload(tx, upload)
  if (event === 'ready') {
    await garbage.forgetParts(tx, upload)
    await garbage.discardKept(tx, upload)
  }
  return true
}

/** Shows how far the file is encoded. `percent`: 0 to 100. Does nothing unless the upload is being encoded. */
export function recordEncodeProgress(
  tx: Tx,
  upload: Pick<UploadRef, 'id' | 'organizationId'>,
  percent: number,
): Promise<void> {
  return store.recordEncodeProgress(tx, upload, percent)
}

/** Discards the bytes kept from earlier uploads of the recording, because other media has taken their place. */
export function discardKept(tx: Tx, recording: RecordingRef): Promise<void> {
  return garbage.discardKept(tx, recording)
}

/** Whether an upload brings, or may still bring, media of the recording. The caller has locked the recording. */
export function hasActiveUpload(tx: Tx, recording: RecordingRef): Promise<boolean> {
  return store.hasActiveUpload(tx, recording)
}

/** The id of the recording's upload that is being processed; null without one. The caller has locked the recording. */
export function findProcessed(tx: Tx, recording: RecordingRef): Promise<string | null> {
  return store.findProcessed(tx, recording)
}

/**
 * Sets the newest upload with kept bytes back to `processing`. The caller has locked the recording and verified that no
 * other media is being ingested. It sends the message and changes the asset.
 * @returns the id of the upload; null if the recording has none
 */
export function processAgain(tx: Tx, recording: RecordingRef): Promise<string | null> {
  return store.processAgain(tx, recording)
}

/**
 * Ids of the recordings of the organization that have an upload with kept bytes: without media, or still with the media
 * that the upload was to replace. Oldest upload first.
 */
export function recordingsToProcessAgain(query: Query, organizationId: string): Promise<readonly string[]> {
  return store.recordingsToProcessAgain(query, organizationId)
}
