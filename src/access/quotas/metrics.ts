/** Metrics of quotas. */
import { type Counter, Gauge } from 'prom-client'
import type { Config } from '../../kernel/config.ts'
import type { Sql } from '../../platform/db/pool.ts'
import { counterOf, type Metrics } from '../../platform/observability/metrics.ts'
import { QUOTA_NAMES, WARNED_FROM } from './quota.rules.ts'
import { selectFull } from './store.ts'

export const refusalsOf = (metrics: Metrics): Counter<'quota'> =>
  counterOf(metrics, {
    name: 'earshot_quota_refused_total',
    help: 'Requests and media that were refused because a quota of their organization was used up',
    labelNames: ['quota'],
  })

const MOST = 10_000

/** Call it once per process, on the main thread: the values describe the whole service. */
export function registerQuotaGauge({
  sql,
  metrics,
  config,
}: {
  readonly sql: Sql
  readonly metrics: Metrics
  readonly config: Pick<Config, 'quotas'>
}): void {
  new Gauge({
    name: 'earshot_quota_organizations',
    help: 'Organizations that use at least 80 % (near) or all (full) of a quota',
    labelNames: ['quota', 'state'],
    registers: [metrics.registry],
    async collect() {
      this.reset()
      try {
        const rows = await selectFull(sql, config.quotas, WARNED_FROM, MOST)
        for (const quota of QUOTA_NAMES) {
          const own = rows.filter(({ metric }) => (metric === 'events') === (quota === 'events'))
          const full = own.filter(({ used, limit }) => used >= limit).length
          this.set({ quota, state: 'full' }, full)
          this.set({ quota, state: 'near' }, own.length - full)
        }
      } catch {
        // Only this gauge is missing while the database does not answer.
        this.remove({})
      }
    },
  })
}
