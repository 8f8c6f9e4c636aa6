/**
 * Use cases of the metadata of recordings. They run in the transaction of the recording, so values are stored together
 * with it or not at all.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import { isUniqueViolation } from '../../platform/db/sqlstate.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid, type NewId } from '../../platform/ids.ts'
import type { RecordInput, RecordingMetadata, ValueInput } from './model.ts'
import * as store from './records.store.ts'
import { checkValues } from './rules.ts'

/** One response reports at most this many findings. */
const MAX_DETAILS = 20

/** Another recording has the external id. */
export class DuplicateExternalId extends Error {
  override readonly name = 'DuplicateExternalId'
  constructor(readonly recordingId: string) {
    super('another recording has this external id')
  }
}

/** True if another transaction took the external id during the write. A retry then finds its holder. */
export const isTakenMeanwhile = (error: unknown) => isUniqueViolation(error, 'metadata_record_external_id')

export interface RecordDeps {
  readonly newId: NewId
  /** The id of the canonical source. Creates the source if it does not exist. */
  readonly ensureCanonicalSource: (query: Query, organizationId: string) => Promise<string>
}

export function createRecords({ newId, ensureCanonicalSource }: RecordDeps) {
  /** The canonical source, and the values with ids in lower case. @throws AppError 422 */
  async function accept(tx: Tx, organizationId: string, values: readonly ValueInput[]) {
    const given = values.map(({ fieldId, value }) => ({ fieldId: fieldId.toLowerCase(), value }))
    const fieldIds = given.map(({ fieldId }) => fieldId).filter(isUuid)
    const known = await store.findCanonicalFields(tx, organizationId, fieldIds)
    const findings = checkValues(given, known?.types ?? new Map())
    const [first] = findings
    if (first !== undefined)
      throw new AppError(first.code, `${first.path}: ${first.message}`, {
        details: findings.slice(0, MAX_DETAILS),
      })
    return { sourceId: known?.sourceId ?? (await ensureCanonicalSource(tx, organizationId)), values: given }
  }

  return {
    /**
     * Gives a new recording its canonical record, with the external id and the values of the request. The first wrong
     * value decides the error code; the details list every wrong value.
     * @throws AppError 422 `metadata_value_type_mismatch`, `metadata_field_not_canonical`, `metadata_field_duplicate`
     * @throws DuplicateExternalId with the recording that has the external id
     */
    async writeCanonicalRecord(
      tx: Tx,
      organizationId: string,
      recordingId: string,
      input: RecordInput,
    ): Promise<void> {
      const { sourceId, values } = await accept(tx, organizationId, input.values ?? [])
      const externalId = input.externalId ?? null
      const row = { id: newId(), organizationId, sourceId, recordingId, externalId }
      while (!(await store.insertRecord(tx, row, values))) {
        const holder = await store.findRecordingId(tx, organizationId, externalId as string)
        if (holder !== undefined) throw new DuplicateExternalId(holder)
        // The holder was deleted meanwhile, so the external id is free again.
      }
    },

    /**
     * Gives the recording's canonical record another external id, or none (null).
     * @throws DuplicateExternalId with the recording that has it; an error for which `isTakenMeanwhile` is true calls for a retry
     */
    async setExternalId(
      tx: Tx,
      organizationId: string,
      recordingId: string,
      externalId: string | null,
    ): Promise<void> {
      const { sourceId } = await accept(tx, organizationId, [])
      const recordId = await store.lockRecord(tx, { id: newId(), organizationId, sourceId, recordingId })
      const holder =
        externalId === null ? undefined : await store.findRecordingId(tx, organizationId, externalId)
      if (holder !== undefined && holder !== recordingId) throw new DuplicateExternalId(holder)
      await store.setExternalId(tx, organizationId, recordId, externalId)
    },

    /** Replaces all values of the recording's canonical record. @throws AppError 422 as above */
    async replaceValues(
      tx: Tx,
      organizationId: string,
      recordingId: string,
      values: readonly ValueInput[],
    ): Promise<void> {
      const accepted = await accept(tx, organizationId, values)
      const row = { id: newId(), organizationId, sourceId: accepted.sourceId, recordingId }
      const recordId = await store.lockRecord(tx, row)
      await store.replaceValues(tx, organizationId, recordId, accepted.values)
    },

    /** The metadata of each recording, in one query. A recording without metadata has an entry, too. */
    async recordsOf(
      query: Query,
      organizationId: string,
      recordingIds: readonly string[],
    ): Promise<ReadonlyMap<string, RecordingMetadata>> {
      const rows = await store.listRecords(query, organizationId, recordingIds)
      const byRecording = Map.groupBy(rows, (row) => row.recordingId)
      return new Map(
        recordingIds.map((recordingId) => {
          const all = (byRecording.get(recordingId) ?? []).map(({ recordingId: _, ...record }) => record)
          const canonical = all.find((record) => record.isCanonicalRecordingSource)
          return [
            recordingId,
            {
              canonical: canonical ? { externalId: canonical.externalId, values: canonical.values } : null,
              all,
            },
          ]
        }),
      )
    },

    /** The recording with this external id in the canonical source, or null. */
    async recordingWith(query: Query, organizationId: string, externalId: string): Promise<string | null> {
      return (await store.findRecordingId(query, organizationId, externalId)) ?? null
    },
  }
}
