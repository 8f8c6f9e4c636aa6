/**
 * Use cases of coding-agent sessions: upload, read, delete.
 *
 * A session belongs to the user who uploaded it, and nobody else sees it. What was uploaded with a key of the organization
 * belongs to the organization, and all of it sees it. Anything else answers 404.
 */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { codingSessionMessages } from '../../kernel/messages/coding-session.ts'
import { createFairQueue, type FairQueue } from '../../platform/concurrency/fair-queue.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Slice, TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import type { Labels, SessionFacts } from './event.rules.ts'
import { type EventRow, listEvents } from './events.store.ts'
import { hasEvents } from './merge.rules.ts'
import type { CodingSessionResult, UploadCodingSession } from './model.ts'
import { type ReadFile, type ReadWork, readUnits } from './read.ts'
import { type FileRecord, recordsOf } from './records.rules.ts'
import { batchesOf, saveBatch } from './save.ts'
import { type SecretRules, withDefaults } from './secrets.rules.ts'
import * as store from './store.ts'

export type { EventRow } from './events.store.ts'
export type { SessionRow, Viewer } from './store.ts'

export type CodingSessions = ReturnType<typeof createCodingSessions>

type BindUpload = (
  viewer: store.Viewer,
  uploadId: string,
  input: UploadCodingSession,
) => Promise<CodingSessionResult>

export type CodingSessionsDeps = Pick<
  Deps,
  'sql' | 'reads' | 'newId' | 'notifier' | 'requestWork' | 'log'
> & {
  readonly readWork: ReadWork
  /** The session of an uploaded file (`uploads.ts`). */
  readonly bindUpload: BindUpload
  /** Redaction rules of the organization, in addition to the default set. */
  readonly secretRules: (organizationId: string) => Promise<readonly SecretRules[]>
}

/** Uploads that are stored at a time. Those of one owner wait for each other in the database, and each holds a connection meanwhile. */
const PLACES = 3

export function createCodingSessions(deps: CodingSessionsDeps) {
  const { reads } = deps
  const places = createFairQueue({ places: PLACES })
  return {
    upload: (viewer: store.Viewer, input: UploadCodingSession): Promise<CodingSessionResult> =>
      uploadCodingSession({ ...deps, places }, viewer, input),

    /** @throws AppError 404 */
    async get(viewer: store.Viewer, id: string, query: Query = reads): Promise<store.SessionRow> {
      return (await store.findSession(query, viewer, id)) ?? noSession()
    },

    /** Newest first, with one row more than the limit. */
    list: (viewer: store.Viewer, slice: TimeSlice, agent: string | null = null) =>
      store.listSessions(reads, viewer, slice, agent),

    /** In the order of the session, with one row more than the limit. @throws AppError 404 */
    async events(
      viewer: store.Viewer,
      id: string,
      slice: () => Slice<readonly [position: number, id: string]>,
    ): Promise<readonly EventRow[]> {
      if ((await store.findSession(reads, viewer, id)) === undefined) noSession()
      return listEvents(reads, { organizationId: viewer.organizationId, sessionId: id }, slice())
    },

    /**
     * The sessions of the organization among these ids, of any owner. For a feature with access rules of its own, such as
     * a project that sessions were shared with.
     */
    among: (query: Query, organizationId: string, ids: readonly string[]) =>
      store.sessionsAmong(query, organizationId, ids),

    /** SQL condition: the viewer sees the session with the alias `s`. For statements of other features. */
    visibleSession: store.visibleSession,

    /** Deletes the session at once and its events soon. @throws AppError 404 */
    async remove(viewer: store.Viewer, id: string, also?: Alongside): Promise<void> {
      await transactionWithOutbox(deps, async (tx, outbox) => {
        if (!(await store.deleteSession(tx, viewer, id))) noSession()
        await also?.(tx, id)
        const { organizationId } = viewer
        await outbox.send([codingSessionMessages.message(id, 'delete_events', { organizationId })])
      })
      deps.log.info({ organizationId: viewer.organizationId, codingSessionId: id }, 'coding session deleted')
    },
  }
}

/**
 * Stores a session, or what is new of one that is known. The same input twice adds nothing.
 * @throws AppError 400 `validation_failed`, `coding_session_empty`, `request_too_costly`; those of `SessionUploads.bind`
 */
async function uploadCodingSession(
  deps: CodingSessionsDeps & { readonly places: FairQueue },
  viewer: store.Viewer,
  input: UploadCodingSession,
): Promise<CodingSessionResult> {
  if (input.uploadId !== undefined) return deps.bindUpload(viewer, input.uploadId.toLowerCase(), input)
  const lines = linesOf(input)
  const rules = await rulesOf(deps, viewer.organizationId)
  const bytes = lines.reduce((sum, line) => sum + (line?.length ?? 0), 0)
  const load = { caller: viewer.organizationId, bytes, units: readUnits(bytes, rules) }
  const { format, externalSessionId } = input
  const work = { format, lines, rules, externalSessionId, labels: labelsOf(input) }
  const file = await deps.requestWork.run(deps.readWork.file, work, load)
  if (file.session.externalSessionId === null || !hasEvents(file.merged))
    throw new AppError('coding_session_empty', 'The file has no event of a session.')
  return deps.places.run(viewer.organizationId, () =>
    transaction(deps.sql, (tx) => save(deps, tx, viewer, input, file)),
  )
}

export async function rulesOf(
  { secretRules }: Pick<CodingSessionsDeps, 'secretRules'>,
  organizationId: string,
): Promise<SecretRules> {
  return withDefaults(await secretRules(organizationId))
}

/** Exactly one member has the content. @throws AppError 400 */
function linesOf({ format, events, jsonl }: UploadCodingSession): readonly FileRecord[] {
  if ((events === undefined) === (jsonl === undefined))
    throw invalid([
      {
        path: 'events',
        code: 'contradiction',
        message: 'must be given, or jsonl, or uploadId, but only one of them',
      },
    ])
  if (events === undefined) return recordsOf(jsonl ?? '')
  if (format !== 'normalized')
    throw invalid([{ path: 'format', code: 'contradiction', message: 'must be "normalized" with events' }])
  return events.map((event) => JSON.stringify(event))
}

async function save(
  { newId }: Pick<CodingSessionsDeps, 'newId'>,
  tx: Tx,
  viewer: store.Viewer,
  input: UploadCodingSession,
  { session, ancestry, labels, merged, skippedLines }: ReadFile,
): Promise<CodingSessionResult> {
  const { organizationId } = viewer
  const userId = store.ownerOf(viewer)
  const agent = input.agent ?? input.format
  const externalSessionId = session.externalSessionId ?? ''
  const row = { id: newId(), organizationId, userId, agent, externalSessionId }
  const { id: sessionId } = await store.lockSession(tx, row, labels, labelsOf(session))
  const ref = { organizationId, sessionId }
  let deduplicated = 0
  for (const batch of batchesOf(merged)) {
    const { events, fresh } = await saveBatch(tx, ref, { userId, receivedAt: null, ancestry }, batch)
    deduplicated += events - fresh
  }
  await store.setSkippedLines(tx, ref, skippedLines)
  const saved = await store.findSession(tx, viewer, sessionId)
  return resultOf(saved ?? noSession(), deduplicated)
}

export function labelsOf({ title, repo, branch, commit }: Omit<SessionFacts, 'externalSessionId'>): Labels {
  return { title: title ?? null, repo: repo ?? null, branch: branch ?? null, commit: commit ?? null }
}

/** The counts of a session after an upload. */
export function resultOf(row: store.SessionRow, deduplicatedEventCount: number): CodingSessionResult {
  return {
    sessionId: row.id,
    agent: row.agent,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    eventCount: row.eventCount,
    deduplicatedEventCount,
    messages: row.messages,
    fileEdits: row.fileEdits,
    toolCalls: row.toolCalls,
    usage: usageOf(row),
    skippedLines: row.skippedLines,
  }
}

export function usageOf(row: CodingSessionResult['usage']): CodingSessionResult['usage'] {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = row
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }
}

function noSession(): never {
  throw new AppError('coding_session_not_found', 'There is no such session.')
}
