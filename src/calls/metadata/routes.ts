/** Operations on metadata definitions. They parse, call the service and shape the response. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { created, type Operation, ok, operation } from '../../http/operation.ts'
import { numberedPageQuery } from '../../http/paging.ts'
import { uuidOf } from '../../http/parameters.ts'
import { CreateField, CreateSource, Field, RenameField, RenameSource, Source } from './model.ts'
import type { Metadata } from './service.ts'

const SOURCES = '/v3/rest/metadata/sources'
const FIELDS = '/v3/rest/metadata/fields'
const TAG = 'Metadata'

const NO_SOURCE = 'metadata_source_not_found'
const NO_FIELD = 'metadata_field_not_found'

const PAGING_NOTE = 'Request the next `page` until one holds fewer than `limit` entries.'

/** Everything under `/v3/rest/metadata`. */
export function metadataOperations(metadata: Metadata): readonly Operation[] {
  return [
    listSources(metadata),
    createSource(metadata),
    getSource(metadata),
    renameSource(metadata),
    listFields(metadata),
    createField(metadata),
    getField(metadata),
    renameField(metadata),
  ]
}

const listSources = (metadata: Metadata) =>
  operation({
    id: 'listMetadataSources',
    method: 'GET',
    path: SOURCES,
    tag: TAG,
    summary: 'List sources',
    description: `The canonical \`recordings\` source comes first, then the oldest first. ${PAGING_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object(numberedPageQuery),
    success: { status: 200, description: 'A page of sources', schema: Type.Array(Source) },
    async handler({ principal, query }) {
      return ok(await metadata.listSources(principal.organizationId, query()))
    },
  })

const createSource = (metadata: Metadata) =>
  operation({
    id: 'createMetadataSource',
    method: 'POST',
    path: SOURCES,
    tag: TAG,
    summary: 'Create a source',
    description:
      'The source has the type `api` and is managed by the customer. Names are trimmed and case-sensitive; `recordings` is ' +
      'reserved. If the response to a create was lost, repeating it answers 409: list the sources and match by name.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: CreateSource,
    example: { externalEntityName: 'accounts' },
    unique: ['externalEntityName'],
    success: { status: 201, description: 'The source', schema: Source },
    errors: ['name_exists'],
    async handler(call) {
      const { externalEntityName } = await call.body()
      const also = recorded<Source>(call, 'metadata_source.created', ({ id }) => id)
      const source = await metadata.createSource(call.principal.organizationId, externalEntityName, also)
      return created(`${SOURCES}/${source.id}`, source)
    },
  })

const getSource = (metadata: Metadata) =>
  operation({
    id: 'getMetadataSource',
    method: 'GET',
    path: `${SOURCES}/{sourceId}`,
    params: { sourceId: uuidOf('metadata source') },
    tag: TAG,
    summary: 'Read a source',
    description: 'Answers 404 if the organization has no such source.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The source', schema: Source },
    errors: [NO_SOURCE],
    async handler({ principal, id, query }) {
      const source = await metadata.getSource(principal.organizationId, id('sourceId', NO_SOURCE))
      query()
      return ok(source)
    },
  })

const renameSource = (metadata: Metadata) =>
  operation({
    id: 'renameMetadataSource',
    method: 'PATCH',
    path: `${SOURCES}/{sourceId}`,
    params: { sourceId: uuidOf('metadata source') },
    tag: TAG,
    summary: 'Rename a source',
    description:
      'Only sources that the customer manages can be renamed. The canonical source and sources of integrations answer 403. ' +
      'The body is exactly `{externalEntityName}`.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: RenameSource,
    example: { externalEntityName: 'customer accounts' },
    unique: ['externalEntityName'],
    success: { status: 200, description: 'The renamed source', schema: Source },
    errors: [NO_SOURCE, 'source_read_only', 'name_exists'],
    async handler(call) {
      const readName = async () => (await call.body()).externalEntityName
      const also = recorded<Source>(call, 'metadata_source.updated', ({ id }) => id)
      const id = call.id('sourceId', NO_SOURCE)
      return ok(await metadata.renameSource(call.principal.organizationId, id, readName, also))
    },
  })

const listFields = (metadata: Metadata) =>
  operation({
    id: 'listMetadataFields',
    method: 'GET',
    path: `${SOURCES}/{sourceId}/fields`,
    params: { sourceId: uuidOf('metadata source') },
    tag: TAG,
    summary: 'List the fields of a source',
    description: `Oldest first. ${PAGING_NOTE}`,
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object(numberedPageQuery),
    success: { status: 200, description: 'A page of fields', schema: Type.Array(Field) },
    errors: [NO_SOURCE],
    async handler({ principal, id, query }) {
      return ok(await metadata.listFields(principal.organizationId, id('sourceId', NO_SOURCE), query))
    },
  })

const createField = (metadata: Metadata) =>
  operation({
    id: 'createMetadataField',
    method: 'POST',
    path: `${SOURCES}/{sourceId}/fields`,
    params: { sourceId: uuidOf('metadata source') },
    tag: TAG,
    summary: 'Create a field',
    description:
      'Adds a field to a source of type `api`, including the canonical source. The name is unique in its source; the type never changes.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: CreateField,
    example: { name: 'deal size', type: 'float' },
    unique: ['name'],
    success: { status: 201, description: 'The field', schema: Field },
    errors: [NO_SOURCE, 'source_read_only', 'name_exists'],
    async handler(call) {
      const also = recorded<Field>(
        call,
        'metadata_field.created',
        ({ id }) => id,
        ({ sourceId }) => ({ sourceId }),
      )
      const sourceId = call.id('sourceId', NO_SOURCE)
      const field = await metadata.createField(call.principal.organizationId, sourceId, call.body, also)
      return created(`${FIELDS}/${field.id}`, field)
    },
  })

const getField = (metadata: Metadata) =>
  operation({
    id: 'getMetadataField',
    method: 'GET',
    path: `${FIELDS}/{fieldId}`,
    params: { fieldId: uuidOf('metadata field') },
    tag: TAG,
    summary: 'Read a field',
    description: 'Answers 404 if the organization has no such field.',
    access: 'organizationOrUser',
    role: 'viewer',
    query: Type.Object({}),
    success: { status: 200, description: 'The field', schema: Field },
    errors: [NO_FIELD],
    async handler({ principal, id, query }) {
      const field = await metadata.getField(principal.organizationId, id('fieldId', NO_FIELD))
      query()
      return ok(field)
    },
  })

const renameField = (metadata: Metadata) =>
  operation({
    id: 'renameMetadataField',
    method: 'PATCH',
    path: `${FIELDS}/{fieldId}`,
    params: { fieldId: uuidOf('metadata field') },
    tag: TAG,
    summary: 'Rename a field',
    description: 'The body is exactly `{name}`. The type and the source of a field never change.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: RenameField,
    example: { name: 'deal value' },
    unique: ['name'],
    success: { status: 200, description: 'The renamed field', schema: Field },
    errors: [NO_FIELD, 'source_read_only', 'name_exists'],
    async handler(call) {
      const readName = async () => (await call.body()).name
      const also = recorded<Field>(call, 'metadata_field.updated', ({ id }) => id)
      const id = call.id('fieldId', NO_FIELD)
      return ok(await metadata.renameField(call.principal.organizationId, id, readName, also))
    },
  })
