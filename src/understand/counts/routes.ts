/** Operations on counts and summaries. */
import { type Operation, ok, operation } from '../../http/operation.ts'
import { moment } from '../../http/parameters.ts'
import { CountAnswer, CountQuery } from './counts.model.ts'
import type { Topic, Topics } from './digest/digest.ts'
import { DigestAnswer, DigestQuery, EXAMINED } from './digest/model.ts'
import { KEYS_OF, type Key } from './model.ts'
import type { Insight } from './service.ts'

const KEYS = Object.entries(KEYS_OF)
  .map(([metric, keys]) => `\`${metric}\` by ${keys.map((key) => `\`${key}\``).join(', ')}`)
  .join('; ')

export function insightOperations(insight: Insight): readonly Operation[] {
  return [
    operation({
      id: 'countInsights',
      method: 'GET',
      path: '/v3/rest/insights/counts',
      tag: 'Insight',
      summary: 'Count what was said',
      description:
        'Counts what the caller may see, exactly, by the day on which it was said, as the clocks of the organization’s time zone have it. Sessions count on the day on which their first event ' +
        `occurred, recordings on the day on which they began. Keys: ${KEYS}. Filters combine; one that does not apply to the metric is refused.`,
      access: 'organizationOrUser',
      role: 'viewer',
      query: CountQuery,
      success: {
        status: 200,
        description: 'Counts',
        schema: CountAnswer,
        example: {
          timeZone: 'Europe/Berlin',
          since: '2026-01-04T23:00:00.000Z',
          until: '2026-01-11T23:00:00.000Z',
          data: [{ week: '2026-01-05', kind: 'wrong_answer', count: 12 }],
          total: 12,
          coverage: { read: 340, waiting: 2, notRead: 9 },
          complete: true,
        },
      },
      errors: ['insights_busy', 'insights_timed_out'],
      async handler({ principal, query }) {
        const { by, since, until, ...rest } = query()
        const period = { since: moment('since', since), until: moment('until', until) }
        const keys = by.split(',') as Key[]
        const { data, ...counts } = await insight.counts(principal, { ...rest, ...period, by: keys })
        return ok({ ...counts, data: data.map(({ keys: values, count }) => ({ ...values, count })) })
      },
    }),
    operation({
      id: 'digestInsights',
      method: 'GET',
      path: '/v3/rest/insights/digest',
      tag: 'Insight',
      summary: 'Summarise a period',
      description:
        'What grew and what fell in a period, against the period before, which has as many days: kinds of signals and areas of the product, ' +
        'with quotations; totals and outcomes. A change is shown if it is larger than the standard deviation of two random counts, the square ' +
        `root of their sum. Everything is restricted to what the caller may see. Quotations come from the newest ${EXAMINED.toLocaleString('en')} signals.`,
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'insight.read' },
      query: DigestQuery,
      success: { status: 200, description: 'The summary', schema: DigestAnswer, example: EXAMPLE },
      errors: ['insights_busy', 'insights_timed_out'],
      async handler({ principal, query }) {
        const { since, until, quotations } = query()
        const period = { since: moment('since', since), until: moment('until', until) }
        const { kinds, productAreas, days, ...digest } = await insight.digest(principal, period, quotations)
        return ok({
          timeZone: days.timeZone,
          ...digest,
          kinds: named(kinds, (name) => ({ kind: name })),
          productAreas: named(productAreas, (name) => ({ productArea: name })),
        })
      },
    }),
  ]
}

function named(topics: Topics, as: (name: string) => object) {
  const list = (all: readonly Topic[]) => all.map(({ name, ...rest }) => ({ ...as(name), ...rest }))
  return { grew: list(topics.grew), fell: list(topics.fell) }
}

const PAIR = { count: 40, before: 36 }
const EXAMPLE = {
  timeZone: 'UTC',
  since: '2026-01-12T00:00:00.000Z',
  until: '2026-01-19T00:00:00.000Z',
  beforeSince: '2026-01-05T00:00:00.000Z',
  totals: { signals: PAIR, sessions: PAIR, feedback: PAIR, recordings: PAIR },
  outcomes: { resolved: PAIR, unresolved: PAIR, unclear: PAIR },
  kinds: {
    grew: [
      {
        kind: 'wrong_answer',
        count: 31,
        before: 12,
        quotations: [
          {
            signalId: '01a1fdc2-308c-730f-afc3-7288cab37998',
            channel: 'conversation',
            id: '01a1fdc2-308c-730f-afc3-7288cab37999',
            feedbackSourceId: null,
            quote: 'That is not what I asked.',
            occurredAt: '2026-01-14T09:00:00.000Z',
            startSec: null,
            path: '/v3/rest/agent-conversations/sessions/01a1fdc2-308c-730f-afc3-7288cab37999',
          },
        ],
      },
    ],
    fell: [],
  },
  productAreas: { grew: [], fell: [] },
}
