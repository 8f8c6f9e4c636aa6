/** Operations on the records of a feedback source. They parse, call the service and shape the response. */
import { type Static, Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { analysisOf } from '../../analysis/findings/coverage.rules.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, positionOf, toPage } from '../../http/paging.ts'
import { integerId, integerIdOf, moment } from '../../http/parameters.ts'
import { createUnknownMembers } from '../../platform/validation/unknown-members.ts'
import {
  CreatedRecord,
  CreateRecord,
  FeedbackRecord,
  MAX_RECORD_BYTES,
  RecordPage,
  RecordQuery,
} from './model.ts'
import { NO_SOURCE, SOURCES, sourceIdOf, TAG } from './places.ts'
import { orderOfRecords } from './rules.ts'
import type { CreatedRow, Feedback, RecordRow } from './service.ts'

const RECORDS = `${SOURCES}/{feedbackSourceId}/records`
const ALL_RECORDS = '/v3/rest/feedback-records'
const RECORD = `${RECORDS}/{feedbackRecordId}`
const NO_RECORD = 'feedback_record_not_found'

const recordOrders = {
  createdMoment: keyset('feedback-records', ['moment', 'integer']),
  displayMoment: keyset('feedback-records-by-display', ['moment', 'integer']),
}

/** Everything under `/v3/rest/feedback-sources/{feedbackSourceId}/records`, and the list of the records of every source. */
export function recordOperations(feedback: Feedback): readonly Operation[] {
  return [
    createRecord(feedback),
    listRecords(feedback),
    listAllRecords(feedback),
    getRecord(feedback),
    deleteRecord(feedback),
  ]
}

const recordIdOf = (param: (name: string) => string) => integerId(param('feedbackRecordId'), NO_RECORD)

const unknownIn = createUnknownMembers(CreateRecord)

const createRecord = (feedback: Feedback) =>
  operation({
    id: 'createFeedbackRecord',
    method: 'POST',
    path: RECORDS,
    params: { feedbackSourceId: integerIdOf('feedback source') },
    tag: TAG,
    summary: 'Create a feedback record',
    description:
      'Stores one ticket, answer or message as a list of typed fields. With an `external_id` it is safe to retry: 409 ' +
      '`external_id_exists` carries the `id` of the existing record. The person must exist.',
    access: 'organization',
    limit: 'feedback',
    body: CreateRecord,
    maxBodyBytes: MAX_RECORD_BYTES,
    unique: ['external_id'],
    example: {
      display_ts: '2026-01-02T09:00:00Z',
      external_id: 'ticket-2041',
      fields: [
        {
          category: 'content',
          type: 'string',
          name: 'comment',
          value: 'The import is quick, the export is not.',
        },
        { category: 'metadata', type: 'integer', name: 'score', value: 7 },
        { category: 'metadata', type: 'json', name: 'tags', value: ['export', 'speed'] },
      ],
    },
    success: { status: 201, description: 'The record, without its fields', schema: CreatedRecord },
    errors: [NO_SOURCE, 'person_not_found', 'external_id_exists'],
    async handler({ principal, param, parsedBody }) {
      let ignored: readonly string[] = []
      const row = await feedback.createRecord(principal.organizationId, sourceIdOf(param), async () => {
        const body = await parsedBody()
        ignored = unknownIn(body)
        return body
      })
      const location = `${SOURCES}/${row.sourceId}/records/${row.id}`
      return created(location, { ...createdResource(row), ...(ignored.length === 0 ? {} : { ignored }) })
    },
  })

const listRecords = (feedback: Feedback) =>
  operation({
    id: 'listFeedbackRecords',
    method: 'GET',
    path: RECORDS,
    params: { feedbackSourceId: integerIdOf('feedback source') },
    tag: TAG,
    summary: 'List the records of a feedback source',
    description:
      'Lists records with their fields, last stored first. If only `since` or `until` bounds the list, the newest `display_ts` ' +
      'comes first. By `page` or by `cursor`.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'feedback_record.listed' },
    query: RecordQuery,
    success: { status: 200, description: 'A page of records', schema: RecordPage },
    errors: [NO_SOURCE],
    handler: ({ principal, param, query }) =>
      listed(feedback, principal.organizationId, sourceIdOf(param), query),
  })

const listAllRecords = (feedback: Feedback) =>
  operation({
    id: 'listAllFeedbackRecords',
    method: 'GET',
    path: ALL_RECORDS,
    tag: TAG,
    summary: 'List the records of every feedback source',
    description:
      'Lists records with their fields, the newest `display_ts` first. If `created_after` or `created_before` bounds the list, ' +
      'the last stored comes first. By `page` or by `cursor`.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'feedback_record.listed' },
    query: RecordQuery,
    success: { status: 200, description: 'A page of records', schema: RecordPage },
    handler: ({ principal, query }) => listed(feedback, principal.organizationId, null, query),
  })

/** @param sourceId null: records of every source */
async function listed(
  feedback: Feedback,
  organizationId: string,
  sourceId: number | null,
  query: () => Static<typeof RecordQuery>,
) {
  const { rows, query: asked } = await feedback.listRecords(organizationId, sourceId, () => {
    const { external_id, person_id, since, until, created_after, created_before, ...place } = query()
    const filter = {
      sourceId: sourceId ?? undefined,
      externalId: external_id,
      personId: person_id,
      since: moment('since', since),
      until: moment('until', until),
      createdAfter: moment('created_after', created_after),
      createdBefore: moment('created_before', created_before),
    }
    return { position: positionOf(recordOrders[orderOfRecords(filter)], place), filter }
  })
  const { limit, page } = asked.position
  const moments = orderOfRecords(asked.filter)
  const next = (row: RecordRow) => recordOrders[moments].encode([row[moments], row.id])
  return ok({ ...toPage(rows, limit, next, recordResource), page })
}

const getRecord = (feedback: Feedback) =>
  operation({
    id: 'getFeedbackRecord',
    method: 'GET',
    path: RECORD,
    params: {
      feedbackSourceId: integerIdOf('feedback source'),
      feedbackRecordId: integerIdOf('feedback record'),
    },
    tag: TAG,
    summary: 'Read a feedback record',
    description: 'The record with its fields.',
    access: 'organizationOrUser',
    role: 'viewer',
    reads: { action: 'feedback_record.read', object: 'feedbackRecordId' },
    query: Type.Object({}),
    success: { status: 200, description: 'The record with its fields', schema: FeedbackRecord },
    errors: [NO_SOURCE, NO_RECORD],
    async handler({ principal, param, query }) {
      const row = await feedback.getRecord(principal.organizationId, sourceIdOf(param), recordIdOf(param))
      query()
      return ok(recordResource(row))
    },
  })

const deleteRecord = (feedback: Feedback) =>
  operation({
    id: 'deleteFeedbackRecord',
    method: 'DELETE',
    path: RECORD,
    params: {
      feedbackSourceId: integerIdOf('feedback source'),
      feedbackRecordId: integerIdOf('feedback record'),
    },
    tag: TAG,
    summary: 'Delete a feedback record',
    description: 'Deletes the record. Its `external_id` can be used again.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The record is deleted' },
    errors: [NO_SOURCE, NO_RECORD],
    async handler(call) {
      const [sourceId, id] = [sourceIdOf(call.param), recordIdOf(call.param)]
      const also = recorded<void>(call, 'feedback_record.deleted', () => id)
      await feedback.deleteRecord(call.principal.organizationId, sourceId, id, also)
      return noContent()
    },
  })

/** The members that the specification lists. */
function createdResource(row: CreatedRow) {
  return {
    id: row.id,
    person_id: row.personId,
    feedback_source_id: row.sourceId,
    display_ts: row.displayTs,
    external_id: row.externalId,
    created_at: row.createdAt,
  }
}

function recordResource(row: RecordRow) {
  return { ...createdResource(row), fields: row.fields, analysis: analysisOf(row.subject) }
}
