/** The operation of the website's assistant. */

import { ok } from '../../http/operation.ts'
import { type WebsiteOperation, websiteOperation } from '../../http/website-operation.ts'
import { invalid } from '../../platform/validation/json.ts'
import { Answer, Question } from './model.ts'
import type { Assistant } from './service.ts'

/** `POST /api/assistant`. */
export function assistantOperations(assistant: Assistant): readonly WebsiteOperation[] {
  return [ask(assistant)]
}

const ask = (assistant: Assistant) =>
  websiteOperation({
    id: 'askAssistant',
    method: 'POST',
    path: '/api/assistant',
    limit: 'assistant',
    summary: 'Ask about the website',
    description:
      'Answers from the pages of the website and names them. If the pages do not contain the answer, it says so and `sources` is empty.',
    body: Question,
    example: { question: 'What happens to my data when Redis is lost?' },
    success: { status: 200, description: 'The answer', schema: Answer },
    async handler({ request, body }) {
      const { question } = await body()
      if (question.trim() === '')
        throw invalid([{ path: 'question', code: 'length', message: 'must not be blank' }])
      return ok(await assistant.ask(question.trim(), request.signal))
    },
  })
