/** Operations on feedback sources, and the list of those on records. They parse, call the service and shape the response. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, positionOf, toPage } from '../../http/paging.ts'
import { integerIdOf } from '../../http/parameters.ts'
import { CreateSource, RenameSource, Source, SourcePage, SourceQuery } from './model.ts'
import { NO_SOURCE, SOURCES, sourceIdOf, TAG } from './places.ts'
import { recordOperations } from './record-routes.ts'
import type { Feedback, SourceRow } from './service.ts'

const SOURCE = `${SOURCES}/{feedbackSourceId}`
const sourceOrder = keyset('feedback-sources', ['moment', 'integer'])

/** Everything under `/v3/rest/feedback-sources`. */
export function feedbackOperations(feedback: Feedback): readonly Operation[] {
  return [
    createSource(feedback),
    listSources(feedback),
    getSource(feedback),
    renameSource(feedback),
    deleteSource(feedback),
    ...recordOperations(feedback),
  ]
}

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
    errors: ['name_exists', 'unsupported_source_type'],
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

function sourceResource({ id, name, type, createdAt }: SourceRow) {
  return { id, name, type, created_at: createdAt }
}
