/**
 * Use cases of the metadata that recordings carry. They run in the transaction of the recording, so that its values
 * exist with it or not at all.
 */
import type { Query, Tx } from '../platform/db/pool.ts'
import { isUniqueViolation } from '../platform/db/sqlstate.ts'
import { AppError } from '../platform/errors.ts'
import { isUuid, type NewId } from '../platform/ids.ts'
import type { RecordInput, RecordingMetadata, ValueInput } from './model.ts'
import * as store from './records.store.ts'
import { checkValues } from './rules.ts'

/** At most this many findings are reported for one request. */
const MAX_DETAILS = 20

/** Another recording has the external id. */
export class DuplicateExternalId extends Error {
  override readonly name = 'DuplicateExternalId'
  constructor(readonly recordingId: string) {
    super('another recording has this external id')
  }
}

/** Another transaction took the external id while this one wrote: done again, it finds who has it. */
export const isTakenMeanwhile = (error: unknown) => isUniqueViolation(error, 'metadata_record_external_id')

export interface RecordDeps {
  readonly newId: NewId
  /** The id of the canonical source, which is made where it does not exist. */
  readonly ensureCanonicalSource: (query: Query, organizationId: string) => Promise<string>
}

export function createRecords({ newId, ensureCanonicalSource }: RecordDeps) {
  /** The canonical source and the values with ids in lower case. @throws AppError 422 */
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
     * Gives a new recording its canonical record, with the external id and values where there are any. The first wrong
     * value decides the code of a refusal; its details name every one.
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
        // The holder was deleted in between: the external id is free again.
      }
    },

    /**
     * Gives the recording's canonical record another external id, or none (null).
     * @throws DuplicateExternalId with the recording that has it; an error of which `isTakenMeanwhile` is true: to be done again
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

    /** Makes these the only values of the recording's canonical record. @throws AppError 422 as above */
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

    /** The metadata of each of the recordings, in one query. A recording without any has an entry, too. */
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

    /** The recording that has the external id in the canonical source; null where none has. */
    async recordingWith(query: Query, organizationId: string, externalId: string): Promise<string | null> {
      return (await store.findRecordingId(query, organizationId, externalId)) ?? null
    },
  }
}
