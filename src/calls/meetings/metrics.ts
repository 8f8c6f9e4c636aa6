/** Metrics of meeting joins: a counter of reached states, and the active joins at this moment. */
import { Gauge } from 'prom-client'
import type { Deps } from '../../kernel/deps.ts'
import { counterOf, type Metrics } from '../../platform/observability/metrics.ts'
import { countActive } from './store.ts'

/** A join has reached the state. `result`: the error code of a failed one, otherwise `none`. */
export function countStatus(
  metrics: Pick<Metrics, 'registry'>,
  platform: string,
  status: string,
  result = 'none',
): void {
  counterOf(metrics, {
    name: 'earshot_meeting_joins_total',
    help: 'Meeting joins that reached a state, by platform, state and error code',
    labelNames: ['platform', 'status', 'code'],
  }).inc({ platform, status, code: result })
}

/** Adds the gauge to the registry; it queries the database whenever metrics are read. Call this once per process. */
export function registerMeetingGauge({ sql, metrics }: Pick<Deps, 'sql' | 'metrics'>): void {
  new Gauge({
    name: 'earshot_meeting_joins_active',
    help: 'Active meeting joins by platform and state',
    labelNames: ['platform', 'status'],
    registers: [metrics.registry],
    async collect() {
      this.reset()
      const rows = await countActive(sql).catch(() => [])
      for (const { platform, status, count } of rows) this.set({ platform, status }, count)
    },
  })
}
