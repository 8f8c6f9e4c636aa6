/**
 * Reads an uploaded session file and stores its events, in the actor of the upload.
 *
 * Memory is bounded whatever the size of the file: at most one record (`records.rules.ts`), one group of records, the
 * window of the merger (`merge.rules.ts`) and one batch of events. Records are parsed and redacted as request work, so in
 * a thread of their own if they are long.
 *
 * The order of the merged items depends on the file alone. Each batch records with its events how many items are stored.
 * An attempt after a crash reads the file again and skips that many.
 */
import { Fenced, type GiveUp, type LongHandler, type LongTurn } from '../../actors/types.ts'
import { beginFile, type CompleteFile, endFile } from '../../calls/uploads/file-uploads.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { Fact, Format } from './event.rules.ts'
import { detectFormat } from './formats/detect.rules.ts'
import { type Merged, Merger } from './merge.rules.ts'
import { type ReadWork, readUnits } from './read.ts'
import { type FileRecord, RecordSplitter } from './records.rules.ts'
import { batchesOf, saveBatch } from './save.ts'
import type { SecretRules } from './secrets.rules.ts'
import { labelsOf, rulesOf } from './service.ts'
import { lockSession, setSkippedLines } from './store.ts'
import * as store from './uploads.store.ts'

export type ProcessDeps = Pick<Deps, 'storage' | 'newId' | 'requestWork'> & {
  readonly readWork: ReadWork
  readonly secretRules: (organizationId: string) => Promise<readonly SecretRules[]>
}

const CONTENT_TYPE = 'application/jsonl'
/** Code units and records that are read together. */
const GROUP_UNITS = 512 * 1024
const GROUP_RECORDS = 1_000
/** Items that are stored together, at least. */
const SAVE_ITEMS = 500
/** Records in which the format must show. */
const DETECT_RECORDS = 200

interface Job extends ProcessDeps {
  readonly turn: LongTurn
  readonly file: CompleteFile
  readonly row: store.FileRow
  readonly rules: SecretRules
}

/** The handler of `process_upload`. */
export const processUpload =
  (deps: ProcessDeps): LongHandler =>
  async (turn) => {
    const begun = await turn.step(async (tx) => {
      const file = await beginFile(tx, turn.message.id)
      const row = file === null ? undefined : await store.readFile(tx, file)
      return file === null || row === undefined ? null : { file, row }
    })
    if (begun === null) return turn.finish(async () => {})
    const { file, row } = begun
    try {
      await deps.storage.incoming.publish(file.objectKey, file.whole, CONTENT_TYPE)
      const rules = await rulesOf(deps, file.organizationId)
      const { sessionId, skipped } = await new FileReader({ ...deps, turn, file, row, rules }).run()
      await turn.finish(async (tx) => {
        await setSkippedLines(tx, { organizationId: file.organizationId, sessionId }, skipped)
        await endFile(tx, file, null)
      })
    } catch (error) {
      if (error instanceof Fenced || turn.signal.aborted || !isFaultOfFile(error)) throw error
      await turn.finish((tx) => fail(tx, file, error.code))
    }
  }

/** Handles a file that could not be used for reasons outside of it. */
export const giveUpUpload: GiveUp = async (message, tx) => {
  const file = await beginFile(tx, message.id)
  if (file !== null) await fail(tx, file, 'processing_failed')
  return 'handled'
}

async function fail(tx: Tx, file: CompleteFile, code: string): Promise<void> {
  await store.recordFailure(tx, { organizationId: file.organizationId, uploadId: file.id }, code)
  await endFile(tx, file, 'processing_failed')
}

const FAULTS: ReadonlySet<string> = new Set(['unsupported_session_format', 'coding_session_empty'])

function isFaultOfFile(error: unknown): error is AppError {
  return error instanceof AppError && FAULTS.has(error.code)
}

/** One pass over the file. */
class FileReader {
  readonly #job: Job
  readonly #splitter = new RecordSplitter()
  #format: Format | null
  #merger: Merger | null = null
  #items: Merged[] = []
  /** Items that an earlier attempt has stored. */
  #stored: number
  #itemsDone: number
  #bytes = 0
  #sessionId: string | null
  #labels: store.Stated | null = null

  constructor(job: Job) {
    this.#job = job
    this.#format = job.row.format
    this.#stored = job.row.itemsDone
    this.#itemsDone = job.row.itemsDone
    this.#sessionId = job.row.sessionId
  }

  /** @throws AppError `unsupported_session_format`, `coding_session_empty` */
  async run(): Promise<{ readonly sessionId: string; readonly skipped: number }> {
    const { storage, file, turn } = this.#job
    let records: FileRecord[] = []
    for await (const chunk of await storage.read(file.objectKey)) {
      turn.signal.throwIfAborted()
      this.#splitter.push(chunk, records)
      this.#bytes += chunk.length
      if (this.#format === null && !this.#detect(records, false)) continue
      if (isFull(records)) {
        await this.#take(records)
        records = []
      }
    }
    this.#splitter.end(records)
    if (this.#format === null) this.#detect(records, true)
    await this.#take(records)
    const merger = this.#mergerOf()
    merger.end(this.#items)
    await this.#save(0)
    if (this.#sessionId === null)
      throw new AppError('coding_session_empty', 'The file has no event of a session.')
    return { sessionId: this.#sessionId, skipped: merger.skipped }
  }

  /** @returns false if more records are needed */
  #detect(records: readonly FileRecord[], isWhole: boolean): boolean {
    this.#format = detectFormat(records.slice(0, DETECT_RECORDS).filter((record) => record !== null))
    if (this.#format !== null) return true
    if (!isWhole && records.length < DETECT_RECORDS) return false
    throw new AppError('unsupported_session_format', 'The file is of no known format.')
  }

  #mergerOf(): Merger {
    const externalSessionId = this.#job.row.externalSessionId ?? undefined
    this.#merger ??= new Merger({ format: this.#format as Format, externalSessionId })
    return this.#merger
  }

  async #take(records: readonly FileRecord[]): Promise<void> {
    const merger = this.#mergerOf()
    for (const group of groupsOf(records)) {
      for (const fact of await this.#read(group)) merger.take(fact, this.#items)
      await this.#save(SAVE_ITEMS)
    }
  }

  /** A record that takes too much work is skipped, like one that is too long. */
  async #read(lines: readonly FileRecord[]): Promise<readonly Fact[]> {
    const { requestWork, readWork, rules, file } = this.#job
    const bytes = unitsOf(lines)
    const load = { caller: file.organizationId, bytes, units: readUnits(bytes, rules) }
    try {
      return await requestWork.run(readWork.lines, { format: this.#format as Format, lines, rules }, load)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'request_too_costly') throw error
      if (lines.length <= 1) return [{ fact: 'skip' }]
      const facts: Fact[] = []
      for (const line of lines) facts.push(...(await this.#read([line])))
      return facts
    }
  }

  /** Stores the items if there are at least so many. */
  async #save(atLeast: number): Promise<void> {
    const skipped = Math.min(this.#stored, this.#items.length)
    this.#stored -= skipped
    this.#items.splice(0, skipped)
    if (this.#items.length === 0 || this.#items.length < atLeast) return
    const items = this.#items
    this.#items = []
    for (const batch of batchesOf(items)) await this.#saveBatch(batch)
  }

  async #saveBatch(batch: readonly Merged[]): Promise<void> {
    const { turn, row, file, newId } = this.#job
    const { organizationId, userId, uploadId } = row
    const stated = await this.#stated()
    const merger = this.#mergerOf()
    const { externalSessionId, ...found } = merger.session
    const receipt = { userId, receivedAt: file.createdAt, ancestry: merger.ancestry }
    const agent = row.agent ?? (this.#format as Format)
    const session = { id: newId(), organizationId, userId, agent, externalSessionId: externalSessionId ?? '' }
    const itemsDone = this.#itemsDone + batch.length
    this.#sessionId = await turn.step(async (tx) => {
      const { id: sessionId } = await lockSession(tx, session, stated, labelsOf(found), file.createdAt)
      const saved = await saveBatch(tx, { organizationId, sessionId }, receipt, batch)
      const progress = { ...saved, sessionId, itemsDone, bytesDone: this.#bytes }
      await store.recordBatch(tx, { organizationId, uploadId }, progress)
      return sessionId
    })
    this.#itemsDone = itemsDone
  }

  /** What the uploader states, without secrets. */
  async #stated(): Promise<store.Stated> {
    const { requestWork, readWork, row, rules } = this.#job
    this.#labels ??= {
      ...row,
      ...(await requestWork.run(
        readWork.labels,
        { labels: labelsOfRow(row), rules },
        { caller: row.organizationId, bytes: 2_000, units: readUnits(2_000, rules) },
      )),
    }
    return this.#labels
  }
}

const labelsOfRow = ({ title, repo, branch, commit }: store.FileRow) => ({ title, repo, branch, commit })

const unitsOf = (records: readonly FileRecord[]) =>
  records.reduce((sum, record) => sum + (record?.length ?? 0), 0)

function isFull(records: readonly FileRecord[]): boolean {
  return records.length >= GROUP_RECORDS || unitsOf(records) >= GROUP_UNITS
}

function* groupsOf(records: readonly FileRecord[]): Generator<readonly FileRecord[]> {
  let group: FileRecord[] = []
  let units = 0
  for (const record of records) {
    const size = record?.length ?? 0
    if (group.length > 0 && (group.length >= GROUP_RECORDS || units + size > GROUP_UNITS)) {
      yield group
      group = []
      units = 0
    }
    group.push(record)
    units += size
  }
  if (group.length > 0) yield group
}
