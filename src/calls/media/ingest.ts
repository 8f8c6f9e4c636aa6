/**
 * Ingests media of a URL in the recording's actor: fetch, process, store, publish.
 *
 * An attempt leaves either published objects or nothing. Its folder and objects have names that no other attempt uses.
 * It changes the recording in fenced transactions only.
 */
import { join } from 'node:path'
import { assertMediaQuota, mediaRoom } from '../../access/quotas/service.ts'
import { Fenced, type LongHandler, type LongTurn } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { withTimeoutSignal } from '../../platform/concurrency/timeout.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { FetchPublic } from '../../platform/net/fetch-public.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'
import type { AssetEvent } from '../assets/rules.ts'
import { beginIngestion, failReplacement, type Ingestion, isReplacing, moveAsset } from '../assets/service.ts'
import { discardAutomaticTranscript, type RequestTranscription } from '../transcripts/requests.ts'
import { discardKept } from '../uploads/processing.ts'
import { storeMedia } from './objects.ts'
import type { Process } from './process.ts'
import { MAX_AGE_SECONDS, MAX_MEDIA_BYTES, MAX_TRANSFER_MS, MediaError, outcomeOf } from './rules.ts'
import type { FindSource, MediaSource } from './source.ts'
import { garbageOf, publishAsset, type StoredMedia } from './store.ts'
import { withTemporaryFolder } from './temporary.ts'
import { transfer } from './transfer.ts'

export interface IngestLimits {
  readonly maxBytes: number
  readonly maxAgeSeconds: number
  /** For one attempt, including continued transfers. */
  readonly transferMs: number
}

export const INGEST_LIMITS: IngestLimits = {
  maxBytes: MAX_MEDIA_BYTES,
  maxAgeSeconds: MAX_AGE_SECONDS,
  transferMs: MAX_TRANSFER_MS,
}

export type IngestDeps = Pick<Deps, 'storage' | 'newId' | 'clock' | 'sql' | 'metrics' | 'config'> & {
  readonly fetchPublic: FetchPublic
  readonly fetchFromRecorder: FetchPublic
  readonly findSource: FindSource
  readonly process: Process
  readonly limits: IngestLimits
  /** Called in the transaction that publishes the media, after the publication. */
  readonly requestTranscription: RequestTranscription
}

interface Attempt {
  readonly deps: IngestDeps
  readonly turn: LongTurn
  readonly ingestion: Ingestion
  readonly id: string
}

/** Handlers of the actor kind `recording`. `ingest_url` is sent when the recording is created. */
export function ingestHandlers(deps: IngestDeps): Readonly<Record<'ingest_url', LongHandler>> {
  return { ingest_url: (turn) => ingest(deps, turn) }
}

async function ingest(deps: IngestDeps, turn: LongTurn): Promise<void> {
  const begun = await turn.step(async (tx) => {
    const ingestion = await beginIngestion(tx, turn.message.id)
    return ingestion === null ? null : { ingestion, stale: await garbageOf(tx, ingestion) }
  })
  if (begun === null) return turn.finish(async () => {})
  const attempt = { deps, turn, ingestion: begun.ingestion, id: deps.newId() }
  const stored = await orNull(attempt, async () => {
    await deps.storage.delete(begun.stale)
    return fetchAndStore(attempt)
  })
  if (stored === null) return
  try {
    await turn.finish(async (tx, send) => {
      if (!(await publish(tx, begun.ingestion, stored))) throw new Error('the media is no longer awaited')
      await assertMediaQuota(tx, deps, begun.ingestion.organizationId, 0)
      await deps.requestTranscription(tx, send, begun.ingestion)
    })
  } catch (error) {
    if (!isQuotaExceeded(error)) throw error
    await failOrRetry(attempt, noRoom())
  }
}

const isQuotaExceeded = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'quota_exceeded'

const noRoom = () => new MediaError('quota_exceeded', false, 'the organization may store no more media')

/** @returns false if the media is no longer awaited */
async function publish(tx: Tx, ingestion: Ingestion, stored: StoredMedia): Promise<boolean> {
  if (ingestion.replaces && !(await isReplacing(tx, ingestion))) return false
  if (ingestion.replaces) await discardAutomaticTranscript(tx, ingestion)
  if (!(await publishAsset(tx, ingestion, stored, ingestion.replaces ? 'replace' : 'publish'))) return false
  // Retrying an older upload would replace this newer media.
  await discardKept(tx, ingestion)
  return true
}

/** @returns null if the asset has failed permanently; the turn is then finished */
async function orNull<T>(attempt: Attempt, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    await failOrRetry(attempt, error)
    return null
  }
}

/** Does everything before the last transaction. Deletes its temporary folder before it returns. */
async function fetchAndStore(attempt: Attempt): Promise<StoredMedia> {
  const { deps, turn, ingestion, id } = attempt
  const { signal, log } = turn
  const place = {
    folder: join(deps.config.dataDir, 'tmp'),
    recordingId: ingestion.recordingId,
    attempt: id,
  }
  return withTemporaryFolder(place, async (folder) => {
    const path = join(folder, 'source')
    const { transferMs } = deps.limits
    const room = await mediaRoom(deps.sql, deps, ingestion.organizationId)
    if (room === 0) throw noRoom()
    const maxBytes = Math.min(deps.limits.maxBytes, room ?? Number.POSITIVE_INFINITY)
    const onFirstByte = () => move(attempt, 'firstByte')
    const source = await deps.findSource(turn, ingestion.url)
    await withTimeoutSignal(transferMs, signal, tooSlow, (within) =>
      transfer(source.isFresh ? deps.fetchFromRecorder : deps.fetchPublic, source, path, {
        signal: within,
        maxBytes,
        onFirstByte,
      }),
    ).catch((error: unknown) => {
      const isTooLarge =
        (error instanceof MediaError || error instanceof PublicFetchError) && error.code === 'media_too_large'
      throw isTooLarge && maxBytes < deps.limits.maxBytes ? noRoom() : ofFreshUrl(source, error)
    })
    await move(attempt, 'lastByte')
    // Only uploads report encoding progress (specification).
    const silent = { onEncode: async () => {}, onProgress: async () => {} }
    const made = await deps.process(path, { folder, signal, log, ...silent })
    return storeMedia(deps.storage, turn, { subject: ingestion, id, sourceKey: null }, made)
  })
}

/** The URL may have expired meanwhile. The next attempt gets another one. */
function ofFreshUrl({ isFresh }: MediaSource, error: unknown): unknown {
  if (!isFresh || !(error instanceof PublicFetchError)) return error
  const mayHaveExpired = error.code === 'url_forbidden' || error.code === 'url_not_found'
  return mayHaveExpired ? new MediaError(error.code, true, error.message) : error
}

const tooSlow = () => new MediaError('transfer_timeout', true, 'the transfer took too long')

async function move({ turn, ingestion }: Attempt, event: AssetEvent): Promise<void> {
  await turn.step(async (tx) => {
    // Media that is being replaced keeps its status meanwhile.
    const isAwaited = ingestion.replaces ? isReplacing(tx, ingestion) : moveAsset(tx, ingestion, event)
    if (!(await isAwaited)) throw new Error('the media is no longer awaited')
  })
}

/** Ends the asset, or queues it again and throws, so that the turn is retried later. */
async function failOrRetry({ deps, turn, ingestion }: Attempt, error: unknown): Promise<void> {
  if (error instanceof Fenced || turn.signal.aborted) throw error
  const failure = asMediaError(error)
  const verdict = outcomeOf(failure, ingestion.ageSeconds, deps.limits.maxAgeSeconds)
  if (verdict === 'retry') {
    if (!ingestion.replaces) await turn.step((tx) => moveAsset(tx, ingestion, 'retry'))
    throw error
  }
  // An operator may raise the quota and fetch the media after all, as after a failure of the service.
  const isFinal =
    failure.code !== 'quota_exceeded' && (failure === error || error instanceof PublicFetchError)
  const event = isFinal ? 'fail' : 'giveUp'
  turn.log.warn({ errorCode: verdict, err: failure.message, event }, 'media failed')
  await turn.finish(async (tx) => {
    if (ingestion.replaces) await failReplacement(tx, ingestion, verdict)
    else await moveAsset(tx, ingestion, event, verdict)
  })
}

/** Any error that is not about the media, such as a full disk or an unavailable object store, may be temporary. */
function asMediaError(error: unknown): MediaError {
  if (error instanceof MediaError) return error
  if (error instanceof PublicFetchError) return new MediaError(error.code, error.retryable, error.message)
  return new MediaError('upload_failed', true, String(error))
}
