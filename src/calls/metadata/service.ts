/**
 * Use cases of metadata definitions (sources and their typed fields) and of the values of recordings.
 *
 * Failures come in the order 404, 403, 400, 409. A change therefore takes a function that reads the request's body, and
 * calls it after the target was found and may be changed.
 */
import { type Alongside, together } from '../../platform/db/alongside.ts'
import type { Query, Sql } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import type { Log } from '../../platform/observability/log.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { CANONICAL_NAME, type CreateField, type Field, type Source } from './model.ts'
import { createRecords } from './records.ts'
import { mayChangeFields, mayRename } from './rules.ts'
import * as store from './store.ts'

export {
  RecordInput,
  type RecordingMetadata,
  ValueInput,
} from './model.ts'
export { DuplicateExternalId, isTakenMeanwhile } from './records.ts'
export type Metadata = ReturnType<typeof createMetadata>

export interface MetadataDeps {
  readonly sql: Sql
  readonly reads: Query
  readonly newId: NewId
  readonly log: Log
}

export function createMetadata(deps: MetadataDeps) {
  const ensureCanonicalSource = (query: Query, organizationId: string) =>
    ensureCanonical(deps, query, organizationId)
  return {
    ...createSources(deps, ensureCanonicalSource),
    ...createFields(deps),
    ...createRecords({ newId: deps.newId, ensureCanonicalSource }),
  }
}

/** Reads first, so that nothing is written once the source exists. */
async function ensureCanonical(
  { newId, log }: MetadataDeps,
  query: Query,
  organizationId: string,
): Promise<string> {
  const present = await store.findCanonicalSourceId(query, organizationId)
  if (present !== undefined) return present
  await store.insertCanonicalSource(query, organizationId, newId())
  const made = await store.findCanonicalSourceId(query, organizationId)
  if (made === undefined) throw new Error('another source has the name of the canonical source')
  log.info({ organizationId, sourceId: made }, 'canonical metadata source created')
  return made
}

function createSources(
  { sql, reads, newId, log }: MetadataDeps,
  ensureCanonicalSource: (query: Query, organizationId: string) => Promise<string>,
) {
  return {
    /** The canonical source first, then the oldest first. */
    async listSources(organizationId: string, page: store.NumberedPage): Promise<readonly Source[]> {
      await ensureCanonicalSource(sql, organizationId)
      return store.listSources(reads, organizationId, page)
    },

    /** @throws AppError 404 */
    async getSource(organizationId: string, id: string): Promise<Source> {
      return (await store.findSource(sql, organizationId, id)) ?? noSource()
    },

    /** @throws AppError 400; 409 `name_exists`, also for the name of the canonical source */
    async createSource(
      organizationId: string,
      externalEntityName: string,
      also?: Alongside<Source>,
    ): Promise<Source> {
      const row = { id: newId(), organizationId, name: sourceName(externalEntityName) }
      const source = await together(
        sql,
        also,
        async (query) => (await store.insertSource(query, row)) ?? nameTaken('source', row.name),
      )
      log.info({ organizationId, sourceId: source.id }, 'metadata source created')
      return source
    },

    /**
     * Renaming to the present name changes nothing.
     * @throws AppError 404; 403 `source_read_only`; errors of `readName`; 400; 409 `name_exists`
     */
    async renameSource(
      organizationId: string,
      id: string,
      readName: () => Promise<string>,
      also?: Alongside<Source>,
    ): Promise<Source> {
      const source = (await store.findSource(sql, organizationId, id)) ?? noSource()
      if (!mayRename(source)) readOnly('The customer does not manage this source, so it cannot be renamed.')
      const name = sourceName(await readName())
      if (name === source.externalEntityName) return source
      return together(sql, also, async (query) => {
        const renamed = await store.renameSource(query, organizationId, id, name)
        return renamed === 'taken' ? nameTaken('source', name) : (renamed ?? noSource())
      })
    },
  }
}

function createFields({ sql, reads, newId, log }: MetadataDeps) {
  async function sourceToChange(organizationId: string, id: string): Promise<void> {
    const source = (await store.findSource(sql, organizationId, id)) ?? noSource()
    if (!mayChangeFields(source)) readOnly('An integration manages this source and its fields.')
  }

  return {
    /** Oldest first. `readPage` is called after the source was found. @throws AppError 404 */
    async listFields(
      organizationId: string,
      sourceId: string,
      readPage: () => store.NumberedPage,
    ): Promise<readonly Field[]> {
      const source = (await store.findSource(reads, organizationId, sourceId)) ?? noSource()
      return store.listFields(reads, organizationId, source.id, readPage())
    },

    /** @throws AppError 404 */
    async getField(organizationId: string, id: string): Promise<Field> {
      return (await store.findField(sql, organizationId, id)) ?? noField()
    },

    /** @throws AppError 404; 403 `source_read_only`; errors of `read`; 400; 409 `name_exists` */
    async createField(
      organizationId: string,
      sourceId: string,
      read: () => Promise<CreateField>,
      also?: Alongside<Field>,
    ): Promise<Field> {
      await sourceToChange(organizationId, sourceId)
      const { type, ...given } = await read()
      const name = nameOf('name', given.name)
      const row = { id: newId(), organizationId, sourceId, name, type }
      const field = await together(
        sql,
        also,
        async (query) => (await store.insertField(query, row)) ?? nameTaken('field', name),
      )
      log.info({ organizationId, sourceId, fieldId: field.id }, 'metadata field created')
      return field
    },

    /**
     * Renaming to the present name changes nothing.
     * @throws AppError 404; 403 `source_read_only`; errors of `readName`; 400; 409 `name_exists`
     */
    async renameField(
      organizationId: string,
      id: string,
      readName: () => Promise<string>,
      also?: Alongside<Field>,
    ): Promise<Field> {
      const field = (await store.findField(sql, organizationId, id)) ?? noField()
      await sourceToChange(organizationId, field.sourceId)
      const name = nameOf('name', await readName())
      if (name === field.name) return field
      return together(sql, also, async (query) => {
        const renamed = await store.renameField(query, organizationId, id, name)
        return renamed === 'taken' ? nameTaken('field', name) : (renamed ?? noField())
      })
    },
  }
}

/** @throws AppError 400; 409 for the reserved name, even if the canonical source does not exist yet */
function sourceName(text: string): string {
  const name = nameOf('externalEntityName', text)
  return name === CANONICAL_NAME ? nameTaken('source', name) : name
}

function nameTaken(kind: 'source' | 'field', name: string): never {
  const where = kind === 'source' ? 'The organization has an API source' : 'The source has a field'
  throw new AppError('name_exists', `${where} named ${JSON.stringify(name)} already.`)
}

function readOnly(message: string): never {
  throw new AppError('source_read_only', message)
}

function noSource(): never {
  throw new AppError('metadata_source_not_found', 'There is no such metadata source.')
}

function noField(): never {
  throw new AppError('metadata_field_not_found', 'There is no such metadata field.')
}
