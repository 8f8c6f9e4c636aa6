/** The seven forms (specification, "Endpoints", A). */

import { ok } from '../../http/operation.ts'
import { type WebsiteOperation, websiteOperation } from '../../http/website-operation.ts'
import { validate } from '../../platform/validation/json.ts'
import { Accepted, FORMS, type Form } from './model.ts'
import { isFromRobot, trimmed } from './rules.ts'
import type { Website } from './service.ts'

export function formOperations(website: Website): readonly WebsiteOperation[] {
  return FORMS.map((form) => formOperation(website, form))
}

function formOperation(website: Website, form: Form): WebsiteOperation {
  const accepted: Accepted = { success: true }
  return websiteOperation({
    id: form.operationId,
    method: 'POST',
    path: `/api/${form.name}`,
    limit: 'forms',
    summary: form.summary,
    description: form.once
      ? 'An address that is already on the list is accepted again and stored once.'
      : 'The submission is stored before the response. Its mails are sent afterwards.',
    body: form.body,
    example: form.example,
    success: { status: 200, description: 'The submission was accepted.', schema: Accepted },
    async handler(call) {
      const value = await call.parsedBody()
      if (isFromRobot(value)) return ok(accepted)
      await website.submit(form, validate(form.body, trimmed(value)))
      return ok(accepted)
    },
  })
}
