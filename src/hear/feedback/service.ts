/**
 * Use cases of feedback: sources and their records.
 *
 * Failures come in the order 404, 400, 409. A use case therefore takes a function that reads its body or query, and calls it
 * after the objects in the path were found.
 */

import { deleteActors, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { insightMessages, insightReanalysisMessages } from '../../kernel/messages/insight.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import { withinReach } from '../../platform/db/bounded-scan.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { isForeignKeyViolation } from '../../platform/db/sqlstate.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { validate } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { endImportsOf } from './import-jobs/service.ts'
import { API_TYPE, CreateRecord, type CreateSource } from './model.ts'
import { personIdOf, type RecordFilter, recordDraft, toUnderstand } from './rules.ts'
import * as store from './store.ts'

export type { CreatedRow, RecordRow, SourceRow } from './store.ts'
export type Feedback = ReturnType<typeof createFeedback>

/** Deletes the records of a person in the caller's transaction. @returns the number of deleted records */
export async function eraseRecordsOf(tx: Tx, organizationId: string, personId: number): Promise<number> {
  const ids = await store.deleteRecordsOf(tx, organizationId, personId)
  await deleteActorsOf(tx, ids)
  return ids.length
}

/** The actors that analyse the records go with them. */
const deleteActorsOf = (tx: Tx, recordIds: readonly number[]): Promise<void> =>
  deleteActors(
    tx,
    recordIds.flatMap((id) => [insightMessages.key(String(id)), insightReanalysisMessages.key(String(id))]),
  )

/** Gives the records of a merged person to the one who is kept. */
export const moveRecordsOf: typeof store.moveRecords = (...given) => store.moveRecords(...given)

export type FeedbackDeps = Pick<Deps, 'sql' | 'reads' | 'log' | 'notifier'> & {
  /** The person of an id, which may be that of a person who was merged. @throws AppError 404 `person_not_found` */
  readonly assertPerson: (organizationId: string, id: number) => Promise<{ readonly id: number }>
}

export function createFeedback(deps: FeedbackDeps) {
  const { sql, reads, log } = deps
  const sourceOf = async (organizationId: string, id: number) =>
    (await store.findSource(reads, organizationId, id)) ?? noSource()
  return {
    /** @throws AppError 400; 409 `name_exists` with the `id` of the existing source */
    async createSource(
      organizationId: string,
      { name, type = API_TYPE }: CreateSource,
      also?: Alongside<store.SourceRow>,
    ): Promise<store.SourceRow> {
      if (type !== API_TYPE)
        throw new AppError(
          'unsupported_source_type',
          `A source that is created here has the type "${API_TYPE}".`,
        )
      const row = { name: nameOf('name', name), type }
      const source = await transaction(sql, async (tx) => {
        await assertFree(tx, organizationId, row.name)
        const created = await store.insertSource(tx, organizationId, row)
        await also?.(tx, created)
        return created
      })
      log.info({ organizationId, feedbackSourceId: source.id }, 'feedback source created')
      return source
    },

    /** @throws AppError 404 */
    getSource: sourceOf,

    /**
     * `readName` is called after the source was found. Renaming to the present name is no conflict.
     * @throws AppError 404; errors of `readName`; 400; 409 `name_exists`
     */
    async renameSource(
      organizationId: string,
      id: number,
      readName: () => Promise<{ readonly name: string }>,
      also?: Alongside,
    ): Promise<store.SourceRow> {
      await sourceOf(organizationId, id)
      const name = nameOf('name', (await readName()).name)
      await transaction(sql, async (tx) => {
        const present = (await store.lockSource(tx, organizationId, id)) ?? noSource()
        if (present.name === name) return
        await assertFree(tx, organizationId, name)
        await store.renameSource(tx, organizationId, id, name)
        await also?.(tx, id)
      })
      return sourceOf(organizationId, id)
    },

    /** @throws AppError 404; 409 `not_empty` if it has records */
    async deleteSource(organizationId: string, id: number, also?: Alongside): Promise<void> {
      await transaction(sql, async (tx) => {
        if ((await store.lockSource(tx, organizationId, id)) === undefined) noSource()
        await endImportsOf(tx, organizationId, id)
        if (!(await store.deleteEmptySource(tx, organizationId, id)))
          throw new AppError('not_empty', 'The source has records: delete them first.')
        await also?.(tx, id)
      })
      log.info({ organizationId, feedbackSourceId: id }, 'feedback source deleted')
    },

    listSources: (organizationId: string, filter: { readonly name?: string }, position: store.TimePosition) =>
      withinReach(position, (place) => store.listSources(reads, organizationId, filter, place)),

    /**
     * `readBody` returns the parsed JSON.
     * @throws AppError 404 for the source or the person; errors of `readBody`; 400; 409 `external_id_exists`
     */
    createRecord: (organizationId: string, sourceId: number, readBody: () => Promise<unknown>) =>
      createRecord(deps, organizationId, sourceId, readBody),

    /** @throws AppError 404 */
    async getRecord(organizationId: string, sourceId: number, id: number): Promise<store.RecordRow> {
      return (
        (await store.findRecord(reads, organizationId, sourceId, id)) ??
        (await noRecord(sourceOf(organizationId, sourceId)))
      )
    },

    /**
     * `readQuery` is called after the source was found.
     * @param sourceId null: records of every source
     * @throws AppError 404; errors of `readQuery`
     */
    async listRecords<T extends { readonly filter: RecordFilter; readonly position: store.TimePosition }>(
      organizationId: string,
      sourceId: number | null,
      readQuery: () => T,
    ): Promise<{ readonly rows: readonly store.RecordRow[]; readonly query: T }> {
      if (sourceId !== null) await sourceOf(organizationId, sourceId)
      const query = readQuery()
      const filter = await currentPerson(deps, organizationId, query.filter)
      const rows = await withinReach(query.position, (place) =>
        store.listRecords(reads, organizationId, filter, place),
      )
      return { rows, query }
    },

    /** @throws AppError 404 */
    async deleteRecord(
      organizationId: string,
      sourceId: number,
      id: number,
      also?: Alongside<void>,
    ): Promise<void> {
      await transaction(sql, async (tx) => {
        if (!(await store.deleteRecord(tx, organizationId, sourceId, id)))
          await noRecord(store.findSource(tx, organizationId, sourceId).then((found) => found ?? noSource()))
        await deleteActorsOf(tx, [id])
        await also?.(tx)
      })
      log.info(
        { organizationId, feedbackSourceId: sourceId, feedbackRecordId: id },
        'feedback record deleted',
      )
    },
  }
}

async function createRecord(
  { sql, notifier, assertPerson }: FeedbackDeps,
  organizationId: string,
  sourceId: number,
  readBody: () => Promise<unknown>,
): Promise<store.CreatedRow> {
  if ((await store.findSource(sql, organizationId, sourceId)) === undefined) noSource()
  const body = await readBody()
  const asked = personIdOf(body)
  const current = async () => (asked === null ? null : (await assertPerson(organizationId, asked)).id)
  let personId = await current()
  const draft = recordDraft(validate(CreateRecord, body))
  for (;;) {
    const record = { ...draft, sourceId, personId }
    const created = await unlessErased(() =>
      transactionWithOutbox({ sql, notifier }, async (tx, outbox) => {
        const row = await store.insertRecord(tx, organizationId, record)
        if (row !== undefined) await outbox.send(toUnderstand(organizationId, [row.id]))
        return row
      }),
    )
    if (created === 'person_gone') {
      // Erased, or merged into another person.
      const now = await current()
      if (now === personId) noPerson()
      personId = now
      continue
    }
    if (created !== undefined) return created
    const filter = { sourceId, externalId: record.externalId ?? undefined }
    const [holder] = await store.listRecords(sql, organizationId, filter, FIRST)
    // No holder: its record was deleted meanwhile, so the external id is free again.
    if (holder !== undefined) externalIdExists(holder.id)
  }
}

/** Until the transaction ends, no other transaction takes the name. */
async function assertFree(tx: Tx, organizationId: string, name: string): Promise<void> {
  await store.lockSourceNames(tx, organizationId)
  const holder = await store.findSourceNamed(tx, organizationId, name)
  if (holder === null) return
  const message = 'The organization has a source with this name; nothing was created or changed.'
  throw new AppError('name_exists', message, { extra: { id: holder } })
}

const FIRST: store.TimePosition = { after: null, offset: 0, limit: 1 }

/** The person or the source may have been deleted since the look-up. The response is then the same as for an earlier deletion. */
async function unlessErased<T>(insert: () => Promise<T>): Promise<T | 'person_gone'> {
  try {
    return await insert()
  } catch (error) {
    if (isForeignKeyViolation(error, 'feedback_record_feedback_source_id_fkey')) noSource()
    if (isForeignKeyViolation(error, 'feedback_record_person_id_fkey')) return 'person_gone'
    throw error
  }
}

/** A filter by a person who was merged means the one who was kept. An unknown person has no records. */
async function currentPerson(
  { assertPerson }: FeedbackDeps,
  organizationId: string,
  filter: RecordFilter,
): Promise<RecordFilter> {
  const { personId } = filter
  if (personId === undefined) return filter
  const person = await assertPerson(organizationId, personId).catch(unlessUnknown)
  return { ...filter, personId: person?.id ?? personId }
}

function unlessUnknown(error: unknown): null {
  if (error instanceof AppError && error.code === 'person_not_found') return null
  throw error
}

/** Answers that the source is missing if it is, else that the record is missing. */
async function noRecord(source: Promise<unknown>): Promise<never> {
  await source
  throw new AppError('feedback_record_not_found', 'There is no such feedback record.')
}

function noPerson(): never {
  throw new AppError('person_not_found', 'There is no such person.')
}

function noSource(): never {
  throw new AppError('feedback_source_not_found', 'There is no such feedback source.')
}

function externalIdExists(id: number): never {
  throw new AppError(
    'external_id_exists',
    'The source has a record with this external_id; nothing was created.',
    {
      extra: { id, recordId: id },
    },
  )
}
