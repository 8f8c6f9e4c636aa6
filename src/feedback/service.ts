/**
 * Use cases of feedback: sources and their records.
 *
 * The rule: failures come in the order 404, 400, 409. A use case takes the function that reads its body or its query, and asks
 * it only when what the path names is known.
 */
import type { Deps } from '../container.ts'
import { validate } from '../http/json.ts'
import { isForeignKeyViolation } from '../platform/db/sqlstate.ts'
import { AppError } from '../platform/errors.ts'
import { nameOf } from '../platform/names.ts'
import { API_TYPE, CreateRecord, type CreateSource } from './model.ts'
import { personIdOf, recordDraft } from './rules.ts'
import * as store from './store.ts'

export type { CreatedRow, RecordFilter, RecordRow, SourceRow, TimePosition } from './store.ts'
/** Erases the records of a person, in the transaction of the caller. */
export { deleteRecordsOf, orderOfRecords } from './store.ts'
export type Feedback = ReturnType<typeof createFeedback>

export type FeedbackDeps = Pick<Deps, 'sql' | 'reads' | 'log'> & {
  /** @throws AppError 404 `person_not_found` */
  readonly assertPerson: (organizationId: string, id: number) => Promise<unknown>
}

export function createFeedback(deps: FeedbackDeps) {
  const { sql, reads, log } = deps
  const sourceOf = async (organizationId: string, id: number) =>
    (await store.findSource(reads, organizationId, id)) ?? noSource()
  return {
    /** @throws AppError 400 */
    async createSource(organizationId: string, { name, type }: CreateSource): Promise<store.SourceRow> {
      const source = await store.insertSource(sql, organizationId, {
        name: nameOf('name', name),
        type: type ?? API_TYPE,
      })
      log.info({ organizationId, feedbackSourceId: source.id }, 'feedback source created')
      return source
    },

    /** @throws AppError 404 */
    getSource: sourceOf,

    listSources: (organizationId: string, filter: { readonly name?: string }, position: store.TimePosition) =>
      store.listSources(reads, organizationId, filter, position),

    /**
     * `readBody` gives the parsed JSON.
     * @throws AppError 404 of the source or the person; what `readBody` throws; 400; 409 `external_id_exists`
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

    /** `readQuery` is asked when the source is known. @throws AppError 404; what `readQuery` throws */
    async listRecords<
      T extends { readonly filter: store.RecordFilter; readonly position: store.TimePosition },
    >(
      organizationId: string,
      sourceId: number,
      readQuery: () => T,
    ): Promise<{ readonly rows: readonly store.RecordRow[]; readonly query: T }> {
      await sourceOf(organizationId, sourceId)
      const query = readQuery()
      const rows = await store.listRecords(reads, organizationId, sourceId, query.filter, query.position)
      return { rows, query }
    },

    /** @throws AppError 404 */
    async deleteRecord(organizationId: string, sourceId: number, id: number): Promise<void> {
      if (!(await store.deleteRecord(sql, organizationId, sourceId, id)))
        await noRecord(sourceOf(organizationId, sourceId))
      log.info(
        { organizationId, feedbackSourceId: sourceId, feedbackRecordId: id },
        'feedback record deleted',
      )
    },
  }
}

async function createRecord(
  { sql, assertPerson }: FeedbackDeps,
  organizationId: string,
  sourceId: number,
  readBody: () => Promise<unknown>,
): Promise<store.CreatedRow> {
  if ((await store.findSource(sql, organizationId, sourceId)) === undefined) noSource()
  const body = await readBody()
  const personId = personIdOf(body)
  if (personId !== null) await assertPerson(organizationId, personId)
  const record = { ...recordDraft(validate(CreateRecord, body)), sourceId, personId }
  for (;;) {
    const created = await unlessErased(() => store.insertRecord(sql, organizationId, record))
    if (created !== undefined) return created
    const filter = { externalId: record.externalId ?? undefined }
    const [holder] = await store.listRecords(sql, organizationId, sourceId, filter, FIRST)
    // Nobody where it was deleted in between: its external id is free again.
    if (holder !== undefined) externalIdExists(holder.id)
  }
}

const FIRST: store.TimePosition = { after: null, offset: 0, limit: 1 }

/** The person was there when it was looked for; an erasure in between is the same as one before. */
async function unlessErased<T>(insert: () => Promise<T>): Promise<T> {
  try {
    return await insert()
  } catch (error) {
    if (isForeignKeyViolation(error, 'feedback_record_person_id_fkey'))
      throw new AppError('person_not_found', 'There is no such person.', { cause: error })
    throw error
  }
}

/** Of a source that is not there it is the source that is not found. */
async function noRecord(source: Promise<unknown>): Promise<never> {
  await source
  throw new AppError('feedback_record_not_found', 'There is no such feedback record.')
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
