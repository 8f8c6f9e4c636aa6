/** Use cases of imports: create one, see its first rows judged, start it, follow it, and get its refused rows. */
import { transactionWithOutbox } from '../../../actors/mailbox.ts'
import {
  cancelFileUpload,
  createFileUpload,
  endFile,
  type FileUpload,
  type FileUploadsDeps,
  findFileUpload,
} from '../../../calls/uploads/file-uploads.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { feedbackImportMessages } from '../../../kernel/messages/feedback-import.ts'
import type { Alongside } from '../../../platform/db/alongside.ts'
import type { Query, Tx } from '../../../platform/db/pool.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { AppError } from '../../../platform/errors.ts'
import { nameOf } from '../../../platform/validation/names.ts'
import { checkHeader, type MappingFile, parseMappingFile } from '../row-import/mapping.rules.ts'
import { judgedRow } from '../row-import/records.ts'
import { createJudge, type ImportRecord } from '../row-import/row.rules.ts'
import { findSource } from '../store.ts'
import { notesOf } from './guess.rules.ts'
import type { SampleRow } from './head.ts'
import { type CreateImport, type ImportPhase, LISTED_IMPORTS, MAX_OPEN_IMPORTS } from './model.ts'
import { refusedHeader, refusedLine } from './refused.rules.ts'
import * as store from './store.ts'

export type FeedbackImports = ReturnType<typeof createFeedbackImports>
export type FeedbackImportsDeps = FileUploadsDeps & Pick<Deps, 'reads' | 'notifier'>

export interface ImportState {
  readonly row: store.ImportRow
  readonly upload: FileUpload
  readonly phase: ImportPhase
}

/** Who asks. */
interface Caller {
  readonly organizationId: string
  readonly userId: string | null
}

/** An import in a path. */
export interface ImportPlace {
  readonly organizationId: string
  readonly sourceId: number
  readonly importId: string
}

const REFUSALS_AT_ONCE = 50

export function createFeedbackImports(deps: FeedbackImportsDeps) {
  const { sql, reads } = deps
  return {
    /** `readBody` is called after the source was found. @throws AppError 404; errors of `readBody`; 413; 429 */
    async create(
      { organizationId, userId }: Caller,
      sourceId: number,
      readBody: () => Promise<CreateImport>,
      origin: string | null,
    ): Promise<{ readonly state: ImportState; readonly token: string }> {
      await assertSource(sql, organizationId, sourceId)
      const body = await readBody()
      const file = {
        id: body.upload_key === undefined ? null : idOf(organizationId, sourceId, body.upload_key),
        folder: 'feedback-imports' as const,
        organizationId,
        userId,
        fileName: nameOf('file_name', body.file_name),
        fileSize: body.file_size,
        source: userId === null ? 'api' : 'web',
        origin,
      }
      const { upload, token } = await createFileUpload(deps, file, async (tx, uploadId) => {
        if ((await countOpen(tx, organizationId)) >= MAX_OPEN_IMPORTS) throw tooMany()
        await store.insertImport(tx, { organizationId, uploadId }, sourceId, body.delimiter ?? null)
      })
      return { token, state: await read(sql, { organizationId, sourceId, importId: upload.id }) }
    },

    /** The newest imports of a source. @throws AppError 404 */
    async list(organizationId: string, sourceId: number): Promise<readonly ImportState[]> {
      await assertSource(reads, organizationId, sourceId)
      const rows = await store.listImports(reads, organizationId, sourceId, LISTED_IMPORTS)
      const states = await Promise.all(rows.map((row) => stateOf(reads, row)))
      return states.filter((state) => state !== null)
    },

    /** @throws AppError 404 */
    get: (place: ImportPlace): Promise<ImportState> => read(sql, place),

    /** Judges the first rows and stores nothing. @throws AppError 404; errors of `readMapping`; 400; 409 */
    async preview(
      place: ImportPlace,
      readMapping: () => Promise<MappingFile>,
    ): Promise<{ readonly rows: readonly JudgedRow[]; readonly notes: readonly string[] }> {
      const { row, phase } = await read(reads, place)
      const mapping = await readMapping()
      const header = headerOf(row, phase)
      const sample = (await store.readSample(reads, row)) as unknown as readonly SampleRow[] | null
      const rows = judgedRows(header, sample ?? [], mapping)
      const notes = notesOf(header, row.suggestion ?? {}, parseMappingFile(mapping))
      return { rows, notes: notes.map(({ text }) => text) }
    },

    /**
     * Starting again with the same mapping changes nothing.
     * @throws AppError 404; errors of `readBody`; 400; 409 `feedback_import_not_ready`, `feedback_import_started`,
     * `feedback_import_repeated`
     */
    async start(
      place: ImportPlace,
      readBody: () => Promise<{ readonly mapping: MappingFile; readonly repeat?: boolean }>,
      also: Alongside<string>,
    ): Promise<ImportState> {
      await read(sql, place)
      const { mapping, repeat = false } = await readBody()
      await transactionWithOutbox(deps, async (tx, outbox) => {
        await store.lockStarts(tx, place.organizationId, place.sourceId)
        const row = await locked(tx, place)
        if (row.mapping !== null && Bun.deepEquals(row.mapping, mapping)) return
        const phase = (await stateOf(tx, row))?.phase ?? 'failed'
        checkHeader(parseMappingFile(mapping), headerOf(row, phase))
        if (!repeat) await assertNew(tx, row)
        await store.startImport(tx, row, mapping)
        const { organizationId } = place
        await outbox.send([feedbackImportMessages.message(row.uploadId, 'run', { organizationId })])
        await also(tx, row.uploadId)
      })
      return read(sql, place)
    },

    /** Ends an import. Rows that are stored stay. Cancelling again changes nothing. @throws AppError 404; 409 */
    async cancel(place: ImportPlace, also: Alongside<string>): Promise<ImportState> {
      const { upload, phase } = await read(sql, place)
      if (phase === 'cancelled') return read(sql, place)
      if (phase === 'waiting') await cancelFileUpload(deps, upload)
      await transaction(sql, async (tx) => {
        const row = await locked(tx, place)
        if (row.errorCode === 'cancelled') return
        if (row.endedAt !== null) throw new AppError('upload_not_cancellable', 'The import has ended.')
        await endUnused(tx, row, 'cancelled')
        await also(tx, row.uploadId)
      })
      return read(sql, place)
    },

    /** The refused rows as CSV, a portion at a time as the caller reads. @throws AppError 404 */
    async refusedRows(place: ImportPlace): Promise<ReadableStream<Uint8Array>> {
      const { row } = await read(reads, place)
      return csvOf(reads, row)
    },
  }
}

/** The same key gives the same import (RFC 9562, version 5). */
const idOf = (organizationId: string, sourceId: number, key: string): string =>
  Bun.randomUUIDv5(`feedback import ${sourceId} ${key}`, organizationId)

async function assertSource(query: Query, organizationId: string, id: number): Promise<void> {
  if ((await findSource(query, organizationId, id)) === undefined)
    throw new AppError('feedback_source_not_found', 'There is no such feedback source.')
}

async function read(query: Query, place: ImportPlace): Promise<ImportState> {
  const { organizationId, sourceId, importId } = place
  await assertSource(query, organizationId, sourceId)
  const row = await store.findImport(query, { organizationId, uploadId: importId })
  const state = row === undefined || row.sourceId !== sourceId ? null : await stateOf(query, row)
  return state ?? noImport()
}

async function locked(tx: Tx, { organizationId, importId }: ImportPlace): Promise<store.ImportRow> {
  return (await store.lockImport(tx, { organizationId, uploadId: importId })) ?? noImport()
}

function noImport(): never {
  throw new AppError('feedback_import_not_found', 'There is no such import.')
}

async function stateOf(query: Query, row: store.ImportRow): Promise<ImportState | null> {
  const { organizationId, uploadId: id } = row
  const upload = await findFileUpload(query, { organizationId, id })
  if (upload === undefined) return null
  // Both may have ended between the two reads. Then the row has the reason.
  const isBehind = row.endedAt === null && (upload.phase === 'failed' || upload.phase === 'cancelled')
  const now = isBehind ? ((await store.findImport(query, row)) ?? row) : row
  return { row: now, upload, phase: phaseOf(now, upload) }
}

function phaseOf(row: store.ImportRow, { phase }: FileUpload): ImportPhase {
  if (row.errorCode === 'cancelled' || phase === 'cancelled') return 'cancelled'
  if (row.endedAt !== null) return row.errorCode === null ? 'imported' : 'failed'
  if (phase === 'waiting' || phase === 'failed') return phase
  if (row.header === null) return 'reading'
  return row.mapping === null ? 'mapping' : 'importing'
}

/** @throws AppError 409 unless the import waits for its mapping */
function headerOf(row: store.ImportRow, phase: ImportPhase): readonly string[] {
  if (phase === 'mapping' && row.header !== null) return row.header
  if (row.mapping !== null) throw new AppError('feedback_import_started', 'The import was started already.')
  throw new AppError('feedback_import_not_ready', `The import is in the phase ${phase}.`, {
    headers: { 'retry-after': '1' },
  })
}

async function assertNew(tx: Tx, row: store.ImportRow): Promise<void> {
  const importId = await store.findRepeated(tx, row)
  if (importId === null) return
  const message = 'The same file was imported into this source before. Send repeat: true to import it again.'
  throw new AppError('feedback_import_repeated', message, { extra: { importId } })
}

/** Ends imports whose upload has failed or was cancelled, and counts the others. */
async function countOpen(tx: Tx, organizationId: string): Promise<number> {
  let open = 0
  for (const ref of await store.openImports(tx, organizationId)) {
    const upload = await findFileUpload(tx, { organizationId, id: ref.uploadId })
    if (upload?.phase === 'failed' || upload?.phase === 'cancelled')
      await store.endImport(tx, ref, upload.errorCode ?? 'cancelled')
    else open++
  }
  return open
}

const tooMany = () =>
  new AppError(
    'too_many_uploads',
    `The organization has ${MAX_OPEN_IMPORTS} imports that have not ended. Start or cancel some.`,
    { headers: { 'retry-after': '60' } },
  )

export interface JudgedRow {
  readonly line: number
  readonly refused: string | null
  readonly record: ImportRecord | null
}

function judgedRows(
  header: readonly string[],
  sample: readonly SampleRow[],
  file: MappingFile,
): readonly JudgedRow[] {
  const mapping = parseMappingFile(file)
  checkHeader(mapping, header)
  const judge = createJudge(mapping)
  return sample.map(({ line, values, refused }) => {
    const content =
      refused === null && values !== null
        ? { columns: header, values, isText: true }
        : { refused: refused ?? 'cannot be read' }
    const judged = judgedRow({ line, bytes: 0, content }, judge)
    return 'reason' in judged
      ? { line, refused: judged.reason, record: null }
      : { line, refused: null, record: judged }
  })
}

/** Ends an import whose rows are not stored, and has its file deleted. */
async function endUnused(tx: Tx, ref: store.ImportRef, errorCode: string): Promise<void> {
  await store.endImport(tx, ref, errorCode)
  await endFile(tx, { id: ref.uploadId, organizationId: ref.organizationId }, 'processing_failed')
}

/** Called before a source is deleted, which deletes its imports. */
export async function endImportsOf(tx: Tx, organizationId: string, sourceId: number): Promise<void> {
  for (const { uploadId } of await store.openImportsOf(tx, organizationId, sourceId))
    await endUnused(tx, { organizationId, uploadId }, 'cancelled')
}

/** Ends an import that nobody started, or forgets the refused rows of one that has ended. */
export async function forgetImport(tx: Tx, ref: store.ImportRef): Promise<void> {
  const due = await store.lockDue(tx, ref)
  if (due === undefined) return
  if (!due.ended) await endUnused(tx, ref, 'import_expired')
  await store.forgetWords(tx, ref)
}

function csvOf(query: Query, row: store.ImportRow): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let after = -1
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(refusedHeader(row.header ?? []))),
      async pull(controller) {
        const refusals = await store.readRefusals(query, row, after, REFUSALS_AT_ONCE)
        after = refusals.at(-1)?.position ?? after
        if (refusals.length > 0) controller.enqueue(encoder.encode(refusals.map(refusedLine).join('')))
        if (refusals.length < REFUSALS_AT_ONCE) controller.close()
      },
    },
    { highWaterMark: 1 },
  )
}
