/** The seven forms (specification, "Endpoints", A). */
import { validate } from '../http/json.ts'
import { ok } from '../http/operation.ts'
import { type WebsiteOperation, websiteOperation } from '../http/website-operation.ts'
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
      ? 'An address that is on the list already is accepted again, and stays on it once.'
      : 'Accepted means stored: mails about it are sent afterwards.',
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
