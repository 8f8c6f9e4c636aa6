/**
 * Pure decisions about feedback records: which values a field accepts, and what is stored of a request.
 *
 * A value is stored exactly as it was sent, or refused.
 */

import type { NewMessage } from '../../actors/types.ts'
import { toAnalyze } from '../../kernel/messages/insight.ts'
import { passageMessages } from '../../kernel/messages/passage.ts'
import type { ErrorDetail } from '../../platform/errors.ts'
import { isNumberText } from '../../platform/validation/exact-number.rules.ts'
import { DATE_TIME_EXAMPLE } from '../../platform/validation/formats.ts'
import { invalid } from '../../platform/validation/json.ts'
import { isFullDate, isRfc3339, toUtc } from '../../platform/validation/rfc3339.ts'
import { type CreateRecord, type Field, type FieldType, MAX_VALUE_BYTES } from './model.ts'

const ACCEPTS: Record<FieldType, (value: unknown) => boolean> = {
  boolean: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && isFullDate(value),
  datetime: (value) => typeof value === 'string' && isRfc3339(value),
  float: (value) => Number.isFinite(value) || isNumberText(value),
  integer: (value) => Number.isSafeInteger(value),
  json: (value) => value !== null && value !== undefined,
  string: (value) => typeof value === 'string',
}

const EXPECTED: Record<FieldType, string> = {
  boolean: 'true or false',
  date: 'an RFC 3339 full-date such as "2026-01-02"',
  datetime: 'an RFC 3339 date-time with offset such as "2026-01-02T03:04:05Z"',
  float: 'a finite JSON number',
  integer: 'a JSON number that is a safe integer',
  json: 'any JSON value but null',
  string: 'a JSON string',
}

/** The finding about a field's value, or null if it is valid (specification, "Feedback record"). `path` is its place. */
export function checkValue(type: FieldType, value: unknown, path: string): ErrorDetail | null {
  if (!ACCEPTS[type](value))
    return { path, code: 'type', message: `must be ${EXPECTED[type]}: the field has the type ${type}` }
  if (isTooLong(value))
    return { path, code: 'length', message: `must have at most ${MAX_VALUE_BYTES} bytes of UTF-8` }
  return null
}

function isTooLong(value: unknown): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A UTF-16 code unit takes at most three bytes, so shorter texts need no count.
  return text.length * 3 > MAX_VALUE_BYTES && Buffer.byteLength(text) > MAX_VALUE_BYTES
}

/** A validated record. */
export interface RecordDraft {
  readonly fields: readonly Field[]
  /** In UTC; null means now. */
  readonly displayTs: string | null
  readonly externalId: string | null
}

/** @throws AppError 400 with a finding for every wrong value */
export function recordDraft(body: CreateRecord): RecordDraft {
  const details = body.fields.flatMap(
    ({ type, value }, index) => checkValue(type, value, `fields[${index}].value`) ?? [],
  )
  const displayTs = body.display_ts == null ? null : toUtc(body.display_ts)
  if (body.display_ts != null && displayTs === null)
    details.push({
      path: 'display_ts',
      code: 'date_time',
      message: `must be ${DATE_TIME_EXAMPLE}`,
    })
  if (details.length > 0) throw invalid(details)
  return {
    fields: body.fields.map(({ category, type, name, value }) => ({ category, type, name, value })),
    displayTs,
    externalId: body.external_id ?? null,
  }
}

/** The `person_id` of a body before validation, or null if it has no usable one. */
export function personIdOf(body: unknown): number | null {
  if (typeof body !== 'object' || body === null || !('person_id' in body)) return null
  const { person_id: id } = body
  return Number.isSafeInteger(id) && (id as number) >= 1 ? (id as number) : null
}

export interface RecordFilter {
  /** Undefined: records of every source. */
  readonly sourceId?: number | undefined
  readonly externalId?: string | undefined
  readonly personId?: number | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly createdAfter?: string | undefined
  readonly createdBefore?: string | undefined
}

/**
 * The order of a list, newest first. Records of one source come by time of storage, or by display time if only `since` or `until` bounds the list. Those of
 * every source come by display time, or by time of storage if `created_after` or `created_before` bounds the list.
 */
export function orderOfRecords(filter: RecordFilter): 'createdMoment' | 'displayMoment' {
  const { sourceId, since, until, createdAfter, createdBefore } = filter
  const byDisplay = sourceId === undefined || since !== undefined || until !== undefined
  const byCreation = createdAfter !== undefined || createdBefore !== undefined
  return byDisplay && !byCreation ? 'displayMoment' : 'createdMoment'
}

/** Has new records made searchable and analysed. */
export function toUnderstand(organizationId: string, recordIds: readonly number[]): readonly NewMessage[] {
  if (recordIds.length === 0) return []
  return [
    passageMessages.message(organizationId, 'feedback', {
      organizationId,
      payload: { recordIds: [...recordIds] },
    }),
    ...recordIds.map((id) => toAnalyze(organizationId, 'feedback', id)),
  ]
}
