/** Operations on imports of CSV files. They parse, call the service and shape the response. */
import { Type } from '@sinclair/typebox'
import { recorded } from '../../../access/audit/change.ts'
import { UPLOAD_PATH } from '../../../calls/uploads/file-uploads.ts'
import { baseUrlOf } from '../../../http/base-url.ts'
import { accepted, created, type Operation, ok, operation } from '../../../http/operation.ts'
import { integerId, integerIdOf, uuidOf } from '../../../http/parameters.ts'
import type { Config } from '../../../kernel/config.ts'
import { CREATED_EXAMPLE, IMPORT_EXAMPLE, MAPPING, PREVIEW_EXAMPLE } from './examples.ts'
import * as model from './model.ts'
import type { FeedbackImports, ImportState, JudgedRow } from './service.ts'

const IMPORTS = '/v3/rest/feedback-sources/{feedbackSourceId}/imports'
const IMPORT = `${IMPORTS}/{importId}`
const TAG = 'Feedback'
const NO_SOURCE = 'feedback_source_not_found'
const NO_IMPORT = 'feedback_import_not_found'
const ERRORS = [NO_SOURCE, NO_IMPORT] as const
const sourceParameter = { feedbackSourceId: integerIdOf('feedback source') }
const params = { ...sourceParameter, importId: uuidOf('import') }

/** Everything under `/v3/rest/feedback-sources/{feedbackSourceId}/imports`. */
export function feedbackImportOperations(
  imports: FeedbackImports,
  config: Pick<Config, 'publicBaseUrl'>,
): readonly Operation[] {
  return [
    createImport(imports, config),
    listImports(imports),
    getImport(imports),
    previewImport(imports),
    startImport(imports),
    cancelImport(imports),
    refusedRows(imports),
  ]
}

interface Placed {
  readonly principal: { readonly organizationId: string }
  param(name: string): string
  id(name: string, code: typeof NO_IMPORT): string
}

const sourceOf = ({ param }: Placed) => integerId(param('feedbackSourceId'), NO_SOURCE)
const placeOf = (call: Placed) => ({
  organizationId: call.principal.organizationId,
  sourceId: sourceOf(call),
  importId: call.id('importId', NO_IMPORT),
})
const pathOf = ({ row }: ImportState) => `/v3/rest/feedback-sources/${row.sourceId}/imports/${row.uploadId}`

const createImport = (imports: FeedbackImports, config: Pick<Config, 'publicBaseUrl'>) =>
  operation({
    id: 'createFeedbackImport',
    method: 'POST',
    path: IMPORTS,
    params: sourceParameter,
    tag: TAG,
    summary: 'Create an import of a CSV file',
    description: [
      'Send the bytes to `upload_url` with a resumable client (tus 1.0, or `PUT` with `Content-Range`) or one plain `PUT`, and poll',
      'the import until its phase is `mapping`. Then start it. At most 1 GiB of UTF-8 with a header (RFC 4180).',
    ].join('\n'),
    access: 'organizationOrUser',
    role: 'administrator',
    body: model.CreateImport,
    example: { file_name: 'tickets.csv', file_size: 250_000 },
    success: {
      status: 201,
      description: 'The new import, or the one with the same `upload_key`',
      schema: model.CreatedImport,
      example: CREATED_EXAMPLE,
    },
    errors: [NO_SOURCE, 'upload_too_large', 'too_many_uploads', 'quota_exceeded'],
    async handler(call) {
      const { principal, request } = call
      const caller = {
        organizationId: principal.organizationId,
        userId: principal.kind === 'user' ? principal.userId : null,
      }
      const origin = request.headers.get('origin')
      const { state, token } = await imports.create(caller, sourceOf(call), call.body, origin)
      return created(pathOf(state), {
        ...shown(state),
        upload_url: `${baseUrlOf(request, config)}${UPLOAD_PATH}${token}`,
        timeout_seconds: state.upload.timeoutSeconds,
      })
    },
  })

const listImports = (imports: FeedbackImports) =>
  operation({
    id: 'listFeedbackImports',
    method: 'GET',
    path: IMPORTS,
    params: sourceParameter,
    tag: TAG,
    summary: 'List the newest imports of a source',
    description: `The newest ${model.LISTED_IMPORTS}, newest first.`,
    access: 'organizationOrUser',
    role: 'administrator',
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'The imports',
      schema: model.ImportList,
      example: { data: [IMPORT_EXAMPLE] },
    },
    errors: [NO_SOURCE],
    async handler(call) {
      const states = await imports.list(call.principal.organizationId, sourceOf(call))
      call.query()
      return ok({ data: states.map(shown) })
    },
  })

const getImport = (imports: FeedbackImports) =>
  operation({
    id: 'getFeedbackImport',
    method: 'GET',
    path: IMPORT,
    params,
    tag: TAG,
    summary: 'Read an import',
    description: 'Poll until the phase is `imported`, `failed` or `cancelled`.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: Type.Object({}),
    success: { status: 200, description: 'The import', schema: model.Import, example: IMPORT_EXAMPLE },
    errors: ERRORS,
    async handler(call) {
      const state = await imports.get(placeOf(call))
      call.query()
      return ok(shown(state))
    },
  })

const previewImport = (imports: FeedbackImports) =>
  operation({
    id: 'previewFeedbackImport',
    method: 'POST',
    path: `${IMPORT}/preview`,
    params,
    tag: TAG,
    summary: 'Judge the first rows of an import',
    description: 'Says of at most 20 rows what would be stored or why they would be refused. Stores nothing.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: model.PreviewImport,
    example: { mapping: MAPPING },
    success: {
      status: 200,
      description: 'The judged rows',
      schema: model.ImportPreview,
      example: PREVIEW_EXAMPLE,
    },
    errors: [...ERRORS, 'feedback_import_not_ready', 'feedback_import_started'],
    async handler(call) {
      const { rows, notes } = await imports.preview(placeOf(call), async () => (await call.body()).mapping)
      return ok({ data: rows.map(judged), notes })
    },
  })

const startImport = (imports: FeedbackImports) =>
  operation({
    id: 'startFeedbackImport',
    method: 'POST',
    path: `${IMPORT}/start`,
    params,
    tag: TAG,
    summary: 'Start an import',
    description:
      'Rows are stored in the background, each once, whatever happens meanwhile. A row whose external id is known is left alone. A file that ' +
      'was imported into the source before is refused (409 `feedback_import_repeated`) without `repeat`. Repeated with the same mapping, the ' +
      'request changes nothing.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: model.StartImport,
    example: { mapping: MAPPING },
    success: {
      status: 202,
      description: 'The started import',
      schema: model.Import,
      example: IMPORT_EXAMPLE,
    },
    errors: [...ERRORS, 'feedback_import_not_ready', 'feedback_import_started', 'feedback_import_repeated'],
    async handler(call) {
      const also = recorded<string>(call, 'feedback_import.started', (id) => id)
      const state = await imports.start(placeOf(call), call.body, also)
      return accepted(pathOf(state), shown(state))
    },
  })

const cancelImport = (imports: FeedbackImports) =>
  operation({
    id: 'cancelFeedbackImport',
    method: 'DELETE',
    path: IMPORT,
    params,
    tag: TAG,
    summary: 'Cancel an import',
    description:
      'Works until the import has ended. The file is deleted; rows that are stored stay. Repeating the request returns the same answer.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: {
      status: 200,
      description: 'The cancelled import',
      schema: model.Import,
      example: IMPORT_EXAMPLE,
    },
    errors: [...ERRORS, 'upload_not_cancellable'],
    async handler(call) {
      const also = recorded<string>(call, 'feedback_import.cancelled', (id) => id)
      return ok(shown(await imports.cancel(placeOf(call), also)))
    },
  })

const refusedRows = (imports: FeedbackImports) =>
  operation({
    id: 'getRefusedRowsOfFeedbackImport',
    method: 'GET',
    path: `${IMPORT}/refused-rows`,
    params,
    tag: TAG,
    summary: 'Download the refused rows of an import',
    description:
      'CSV (RFC 4180) with the columns `import_line` and `import_reason` before those of the file. Mended, it can be imported. Cells of rows ' +
      'that are no UTF-8 or have more than 64 KiB are left out. An apostrophe stands before cells that a spreadsheet takes for formulas; the ' +
      'import of the file removes it.',
    access: 'organizationOrUser',
    role: 'administrator',
    reads: { action: 'feedback_record.listed' },
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'The refused rows',
      texts: {
        'text/csv':
          'import_line,import_reason,Ticket,Score\r\n7,"column ""Score"": must be of the type integer",2047,many\r\n',
      },
    },
    errors: ERRORS,
    async handler(call) {
      const content = await imports.refusedRows(placeOf(call))
      call.query()
      const disposition = 'attachment; filename="refused.csv"'
      return {
        status: 200,
        stream: { mediaType: 'text/csv; charset=utf-8', content },
        headers: { 'content-disposition': disposition },
      }
    },
  })

function shown({ row, upload, phase }: ImportState) {
  const failed = phase === 'failed'
  return {
    id: row.uploadId,
    feedback_source_id: row.sourceId,
    phase,
    error_code: failed ? (row.errorCode ?? upload.errorCode) : null,
    file_name: upload.fileName,
    file_size: upload.fileSize,
    received_bytes: upload.offset,
    processed_bytes: phase === 'imported' ? upload.fileSize : row.bytesDone,
    columns: row.header,
    suggested_mapping: row.suggestion,
    mapping: row.mapping,
    rows: row.rowsDone,
    imported: row.imported,
    duplicates: row.duplicates,
    refused: row.refused,
    refused_kept: row.refusedKept,
    created_at: row.createdAt,
    started_at: row.startedAt,
    ended_at: row.endedAt,
  }
}

function judged({ line, refused, record }: JudgedRow) {
  if (record === null) return { line, refused, record }
  const { externalId, email, displayTs, fields } = record
  return { line, refused, record: { external_id: externalId, email, display_ts: displayTs, fields } }
}
