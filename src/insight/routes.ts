/** Operations on counts. */
import { type Operation, ok, operation } from '../http/operation.ts'
import { moment } from '../http/parameters.ts'
import { CountAnswer, CountQuery } from './counts/model.ts'
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
        'Counts what the caller may see, exactly, by the day (UTC) on which it was said. Sessions count on the day on which their first event ' +
        `arrived, recordings on the day on which they began. Keys: ${KEYS}. Filters combine; one that does not apply to the metric is refused.`,
      access: 'organizationOrUser',
      role: 'viewer',
      query: CountQuery,
      success: {
        status: 200,
        description: 'Counts',
        schema: CountAnswer,
        example: {
          since: '2026-01-05T00:00:00.000Z',
          until: '2026-01-12T00:00:00.000Z',
          data: [{ week: '2026-01-05', kind: 'wrong_answer', count: 12 }],
          total: 12,
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
  ]
}
