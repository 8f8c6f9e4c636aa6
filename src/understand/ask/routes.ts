/** The operation `POST /v3/rest/ask`. */
import { type Operation, ok, operation } from '../../http/operation.ts'
import { moment } from '../../http/parameters.ts'
import { Asked, MAX_COUNTED, MAX_PASSAGES, Question } from './model.ts'
import type { Ask } from './service.ts'

const MAX_BODY_BYTES = 16 * 1024

export function askOperations(ask: Ask): readonly Operation[] {
  return [
    operation({
      id: 'ask',
      method: 'POST',
      path: '/v3/rest/ask',
      tag: 'Insight',
      summary: 'Ask what customers said',
      description:
        `Finds the ${MAX_PASSAGES} best passages for a question among everything that the caller may see, and counts the conversations, records and ` +
        `recordings of the best ${MAX_COUNTED} by theme, area and outcome. With a model server (\`ANALYZE_URL\`), a model answers in sentences that quote ` +
        'these passages word for word. Whatever it says without a quotation is left out. The request changes nothing.',
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'search.listed' },
      body: Question,
      maxBodyBytes: MAX_BODY_BYTES,
      example: { question: 'Why do customers wait for their invoices?' },
      success: { status: 200, description: 'The answer', schema: Asked, example: EXAMPLE },
      errors: ['search_busy', 'search_timed_out'],
      async handler({ principal, request, body }) {
        const { since, until, ...asked } = await body()
        const period = { since: moment('since', since), until: moment('until', until) }
        return ok(await ask.ask(principal, { ...asked, ...period }, request.signal))
      },
    }),
  ]
}

const EXAMPLE = {
  answer: [{ text: 'Invoices arrive late since the update.', passages: [1] }],
  answerStatus: 'answered',
  model: 'qwen3-8b',
  passages: [
    {
      number: 1,
      channel: 'conversation',
      id: '01a1fdc2-308c-730f-afc3-7288cab37999',
      feedbackSourceId: null,
      messageId: 'm1',
      recordId: null,
      field: null,
      startSec: null,
      quote: 'Since the update our invoices arrive days late.',
      occurredAt: '2026-01-14T09:00:00.000Z',
      personId: null,
    },
  ],
  counts: {
    subjects: 1,
    themes: [{ id: '01a1fdc2-308c-730f-afc3-7288cab37998', title: 'Late invoices', count: 1, passages: [1] }],
    productAreas: [{ productArea: 'billing', count: 1, passages: [1] }],
    outcomes: [{ outcome: 'unresolved', count: 1, passages: [1] }],
    analyzers: [{ name: 'builtin', version: '12', count: 1, passages: [1] }],
  },
  match: 'all',
  complete: true,
}
