/** Operations on feedback sources and records. They parse, call the service and shape the response. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../http/operation.ts'
import { keyset, positionOf, toPage } from '../http/paging.ts'
import { integerId, integerIdOf, moment } from '../http/parameters.ts'
import {
  CreatedRecord,
  CreateRecord,
  CreateSource,
  FeedbackRecord,
  MAX_RECORD_BYTES,
  RecordPage,
  RecordQuery,
  RenameSource,
  Source,
  SourcePage,
  SourceQuery,
} from './model.ts'
import { orderOfRecords } from './rules.ts'
import type { CreatedRow, Feedback, RecordRow, SourceRow } from './service.ts'

const SOURCES = '/v3/rest/feedback-sources'
const SOURCE = `${SOURCES}/{feedbackSourceId}`
const RECORDS = `${SOURCE}/records`
const RECORD = `${RECORDS}/{feedbackRecordId}`
const TAG = 'Feedback'

const NO_SOURCE = 'feedback_source_not_found'
const NO_RECORD = 'feedback_record_not_found'

const sourceOrder = keyset('feedback-sources', ['moment', 'integer'])
const recordOrders = {
  createdMoment: keyset('feedback-records', ['moment', 'integer']),
  displayMoment: keyset('feedback-records-by-display', ['moment', 'integer']),
}

/** Everything under `/v3/rest/feedback-sources`. */
export function feedbackOperations(feedback: Feedback): readonly Operation[] {
  return [
    createSource(feedback),
    listSources(feedback),
    getSource(feedback),
    renameSource(feedback),
    deleteSource(feedback),
    createRecord(feedback),
    listRecords(feedback),
    getRecord(feedback),
    deleteRecord(feedback),
  ]
}

type Param = (name: string) => string
const sourceIdOf = (param: Param) => integerId(param('feedbackSourceId'), NO_SOURCE)
const recordIdOf = (param: Param) => integerId(param('feedbackRecordId'), NO_RECORD)

const createSource = (feedback: Feedback) =>
  operation({
    id: 'createFeedbackSource',
    method: 'POST',
    path: SOURCES,
    tag: TAG,
    summary: 'Create a feedback source',
    description:
      'A source is where feedback comes from, such as a help desk or a survey. The name is unique in the organization: 409 `name_exists` carries the `id` of the existing source.',
    access: 'organizationOrUser',
    role: 'administrator',
    limit: 'feedback',
    body: CreateSource,
    example: { name: 'Help desk', type: 'api' },
    unique: ['name'],
    success: { status: 201, description: 'The source', schema: Source },
    errors: ['name_exists'],
    async handler(call) {
      const input = await call.body()
      const also = recorded<SourceRow>(call, 'feedback_source.created', ({ id }) => id)
      const source = await feedback.createSource(call.principal.organizationId, input, also)
      return created(`${SOURCES}/${source.id}`, sourceResource(source))
    },
  })

const listSources = (feedback: Feedback) =>
  operation({
    id: 'listFeedbackSources',
    method: 'GET',
    path: SOURCES,
    tag: TAG,
    summary: 'List feedback sources',
    description: 'Newest first, by `page` or by `cursor`.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: SourceQuery,
    success: { status: 200, description: 'A page of sources', schema: SourcePage },
    async handler({ principal, query }) {
      const { name, ...place } = query()
      const position = positionOf(sourceOrder, place)
      const rows = await feedback.listSources(principal.organizationId, { name }, position)
      const page = toPage(
        rows,
        position.limit,
        (row) => sourceOrder.encode([row.createdMoment, row.id]),
        sourceResource,
      )
      return ok({ ...page, page: position.page })
    },
  })

const getSource = (feedback: Feedback) =>
  operation({
    id: 'getFeedbackSource',
    method: 'GET',
    path: SOURCE,
    params: { feedbackSourceId: integerIdOf('feedback source') },
    tag: TAG,
    summary: 'Read a feedback source',
    description: 'Answers 404 if the organization has no such source.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The source', schema: Source },
    errors: [NO_SOURCE],
    async handler({ principal, param, query }) {
      const source = await feedback.getSource(principal.organizationId, sourceIdOf(param))
      query()
      return ok(sourceResource(source))
    },
  })

const renameSource = (feedback: Feedback) =>
  operation({
    id: 'renameFeedbackSource',
    method: 'PATCH',
    path: SOURCE,
    params: { feedbackSourceId: integerIdOf('feedback source') },
    tag: TAG,
    summary: 'Rename a feedback source',
    description: '409 `name_exists` carries the `id` of the source that has the name.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: RenameSource,
    example: { name: 'Help desk Europe' },
    success: { status: 200, description: 'The renamed source', schema: Source },
    errors: [NO_SOURCE, 'name_exists'],
    async handler(call) {
      const id = sourceIdOf(call.param)
      const also = recorded(call, 'feedback_source.updated', () => id)
      const source = await feedback.renameSource(call.principal.organizationId, id, call.body, also)
      return ok(sourceResource(source))
    },
  })

const deleteSource = (feedback: Feedback) =>
  operation({
    id: 'deleteFeedbackSource',
    method: 'DELETE',
    path: SOURCE,
    params: { feedbackSourceId: integerIdOf('feedback source') },
    tag: TAG,
    summary: 'Delete a feedback source',
    description: 'Deletes a source without records. A source with records answers 409 `not_empty`.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The source is deleted' },
    errors: [NO_SOURCE, 'not_empty'],
    async handler(call) {
      const id = sourceIdOf(call.param)
      const also = recorded(call, 'feedback_source.deleted', () => id)
      await feedback.deleteSource(call.principal.organizationId, id, also)
      return noContent()
    },
  })

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
      const row = await feedback.createRecord(principal.organizationId, sourceIdOf(param), parsedBody)
      return created(`${SOURCES}/${row.sourceId}/records/${row.id}`, createdResource(row))
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
    async handler({ principal, param, query }) {
      const { rows, query: asked } = await feedback.listRecords(
        principal.organizationId,
        sourceIdOf(param),
        () => {
          const { external_id, person_id, since, until, created_after, created_before, ...place } = query()
          const filter = {
            externalId: external_id,
            personId: person_id,
            since: moment('since', since),
            until: moment('until', until),
            createdAfter: moment('created_after', created_after),
            createdBefore: moment('created_before', created_before),
          }
          return { position: positionOf(recordOrders[orderOfRecords(filter)], place), filter }
        },
      )
      const { limit, page } = asked.position
      const moments = orderOfRecords(asked.filter)
      const next = (row: RecordRow) => recordOrders[moments].encode([row[moments], row.id])
      return ok({ ...toPage(rows, limit, next, recordResource), page })
    },
  })

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

function sourceResource({ id, name, type, createdAt }: SourceRow) {
  return { id, name, type, created_at: createdAt }
}

/** Exactly the members that the specification lists. */
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
  return { ...createdResource(row), fields: row.fields }
}
