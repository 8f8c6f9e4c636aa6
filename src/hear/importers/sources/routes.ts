/** Operations on import sources. They need the organization's key or an administrator. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../../access/audit/change.ts'
import { accepted, created, noContent, type Operation, ok, operation } from '../../../http/operation.ts'
import { uuidOf } from '../../../http/parameters.ts'
import type { Applications } from '../../agents/applications/service.ts'
import { CreateImportSource, ImportSource, ImportSourceList, MAX_SOURCES } from './model.ts'
import type { ImportSources, SourceRow } from './service.ts'

const SOURCES = '/v3/rest/agent-applications/{applicationId}/import-sources'
const SOURCE = `${SOURCES}/{importSourceId}`
const NO_APPLICATION = 'agent_application_not_found'
const NOT_FOUND = 'import_source_not_found'

const EXAMPLE = {
  id: '0199a7c2-5d1e-7b3c-9f60-2f1d0c8e4b12',
  applicationId: '0199a7c2-5d1e-7b3c-9f60-2f1d0c8e4b11',
  provider: 'zendesk',
  url: 'https://example.zendesk.com',
  account: 'ada@example.com',
  environment: null,
  since: '2026-01-01T00:00:00.000Z',
  everyMinutes: 15,
  conversations: 1204,
  messages: 5310,
  refused: 0,
  nextReadAt: '2026-01-02T09:15:00.000Z',
  lastReadAt: '2026-01-02T09:00:00.000Z',
  caughtUpAt: '2026-01-02T09:00:00.000Z',
  errorCode: null,
  failedAt: null,
  createdAt: '2026-01-02T08:00:00.000Z',
  updatedAt: '2026-01-02T08:00:00.000Z',
}

const common = { tag: 'Import sources', access: 'organizationOrUser', role: 'administrator' } as const
const ofApplication = { ...common, params: { applicationId: uuidOf('application') } }
const ofSource = {
  ...common,
  params: { ...ofApplication.params, importSourceId: uuidOf('import source') },
}

const addressOf = (applicationId: string, id: string) =>
  `${SOURCES.replace('{applicationId}', applicationId)}/${id}`

/** Everything under `/v3/rest/agent-applications/{applicationId}/import-sources`. */
export function importSourceOperations(
  sources: ImportSources,
  applications: Pick<Applications, 'get'>,
): readonly Operation[] {
  return [...collection(sources, applications), ...single(sources, applications)]
}

const collection = (sources: ImportSources, applications: Pick<Applications, 'get'>) => [
  operation({
    ...ofApplication,
    id: 'createImportSource',
    method: 'POST',
    path: SOURCES,
    summary: 'Create an import source',
    description:
      'Conversations of the help desk become conversations of the application: those that changed since `since` at once, later changes ' +
      'every few minutes. Public messages only; internal notes stay in the help desk. Reading goes on where it stopped, and stores each ' +
      `message once. The pauses that the help desk asks for are kept. An organization has at most ${MAX_SOURCES} sources.`,
    body: CreateImportSource,
    example: {
      provider: 'zendesk',
      url: 'https://example.zendesk.com',
      account: 'ada@example.com',
      secret: 'dG9rZW4tb2YtYW4tYWdlbnQ',
      since: '2026-01-01T00:00:00Z',
    },
    success: { status: 201, description: 'The source', schema: ImportSource, example: EXAMPLE },
    errors: [NO_APPLICATION, 'unknown_member', 'url_not_allowed', 'too_many_import_sources'],
    async handler(call) {
      const { organizationId } = call.principal
      const { id } = await applications.get(organizationId, call.id('applicationId', NO_APPLICATION))
      const input = await call.body()
      const also = recorded<SourceRow>(
        call,
        'import_source.created',
        (row) => row.id,
        (row) => ({ applicationId: id, provider: row.provider }),
      )
      const row = await sources.create(organizationId, id, input, also)
      return created(addressOf(id, row.id), row)
    },
  }),
  operation({
    ...ofApplication,
    id: 'listImportSources',
    method: 'GET',
    path: SOURCES,
    summary: 'List the import sources of an application',
    description: 'Oldest first, without their secrets.',
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'The sources',
      schema: ImportSourceList,
      example: { data: [EXAMPLE] },
    },
    errors: [NO_APPLICATION],
    async handler({ principal: { organizationId }, id, query }) {
      const application = await applications.get(organizationId, id('applicationId', NO_APPLICATION))
      query()
      return ok({ data: await sources.list(organizationId, application.id) })
    },
  }),
]

const single = (sources: ImportSources, applications: Pick<Applications, 'get'>) => [
  operation({
    ...ofSource,
    id: 'getImportSource',
    method: 'GET',
    path: SOURCE,
    summary: 'Read an import source',
    description: 'Its settings, progress and last failure, without its secret.',
    query: Type.Object({}),
    success: { status: 200, description: 'The source', schema: ImportSource, example: EXAMPLE },
    errors: [NO_APPLICATION, NOT_FOUND],
    async handler({ principal: { organizationId }, id, query }) {
      const application = await applications.get(organizationId, id('applicationId', NO_APPLICATION))
      const row = await sources.get(organizationId, application.id, id('importSourceId', NOT_FOUND))
      query()
      return ok(row)
    },
  }),
  operation({
    ...ofSource,
    id: 'runImportSource',
    method: 'POST',
    path: `${SOURCE}/run`,
    summary: 'Read an import source now',
    description:
      'Looks for changed conversations in the background, without waiting for the interval or after a failure. A pause that the help desk ' +
      'asked for is still kept; `nextReadAt` says when it ends.',
    success: { status: 202, description: 'The source', schema: ImportSource, example: EXAMPLE },
    errors: [NO_APPLICATION, NOT_FOUND],
    async handler(call) {
      const { organizationId } = call.principal
      const application = await applications.get(organizationId, call.id('applicationId', NO_APPLICATION))
      const sourceId = call.id('importSourceId', NOT_FOUND)
      const also = recorded<SourceRow>(call, 'import_source.run', (row) => row.id)
      const row = await sources.run(organizationId, application.id, sourceId, also)
      return accepted(addressOf(application.id, row.id), row)
    },
  }),
  operation({
    ...ofSource,
    id: 'deleteImportSource',
    method: 'DELETE',
    path: SOURCE,
    summary: 'Delete an import source',
    description: 'Its secret and its position are deleted. Conversations that it has imported stay.',
    success: { status: 204, description: 'The source is deleted' },
    errors: [NO_APPLICATION, NOT_FOUND],
    async handler(call) {
      const { organizationId } = call.principal
      const application = await applications.get(organizationId, call.id('applicationId', NO_APPLICATION))
      const sourceId = call.id('importSourceId', NOT_FOUND)
      const also = recorded<string>(call, 'import_source.deleted', (id) => id)
      await sources.remove(organizationId, application.id, sourceId, also)
      return noContent()
    },
  }),
]
