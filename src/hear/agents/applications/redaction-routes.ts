/** `POST /v3/rest/redaction/preview`: tries redaction rules before an application gets them. */
import { type Operation, ok, operation } from '../../../http/operation.ts'
import { PreviewRedaction, RedactionPreview } from './model.ts'
import type { Applications } from './service.ts'

export function redactionOperation(applications: Pick<Applications, 'previewRedaction'>): Operation {
  return operation({
    id: 'previewRedaction',
    method: 'POST',
    path: '/v3/rest/redaction/preview',
    tag: 'Agent applications',
    summary: 'Try redaction rules',
    description:
      'Answers the text as ingestion with these settings would store it. Neither the text nor the rules are stored. A pattern that is ' +
      'no valid RE2 pattern, or is too complex, is 400 with its place in `details`.',
    access: 'organizationOrUser',
    role: 'administrator',
    body: PreviewRedaction,
    example: {
      redactedFields: ['password'],
      redactedPatterns: ['[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4}'],
      text: 'My card is 4111 1111 1111 1111, {"password": "hunter2"}',
    },
    success: {
      status: 200,
      description: 'The redacted text',
      schema: RedactionPreview,
      example: { text: 'My card is [redacted], {"password": "[redacted]"}' },
    },
    errors: ['request_too_costly'],
    async handler(call) {
      const { text, redactedFields = [], redactedPatterns = [] } = await call.body()
      const rules = { redactedFields, redactedPatterns }
      return ok({ text: await applications.previewRedaction(call.principal.organizationId, text, rules) })
    },
  })
}
