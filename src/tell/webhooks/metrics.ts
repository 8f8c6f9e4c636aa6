/** Metrics of deliveries. */
import { Gauge } from 'prom-client'
import type { Sql } from '../../platform/db/pool.ts'
import { counterOf, type Metrics } from '../../platform/observability/metrics.ts'
import { isSuccess } from './delivery.rules.ts'
import { oldestUndelivered } from './gauges.store.ts'

export interface DeliveryResults {
  count(outcome: {
    readonly attempted: { readonly status: number | null }
    readonly verdict: { readonly status: string }
  }): void
}

export function createDeliveryResults(metrics: Metrics): DeliveryResults {
  const counter = counterOf(metrics, {
    name: 'earshot_webhook_attempts_total',
    help: 'Attempts to deliver events, by result: delivered, refused (another answer), unreachable (no answer), and by what follows: again, given_up, nothing',
    labelNames: ['result', 'next'],
  })
  return {
    count({ attempted: { status }, verdict }) {
      const result = isSuccess(status) ? 'delivered' : status === null ? 'unreachable' : 'refused'
      const isOver = verdict.status === 'delivered' || verdict.status === 'failed'
      const next = !isOver ? 'again' : verdict.status === 'failed' ? 'given_up' : 'nothing'
      counter.inc({ result, next })
    },
  }
}

/** Call it once per process, on the main thread: the value describes the whole service. */
export function registerWebhookGauges({
  sql,
  metrics,
}: {
  readonly sql: Sql
  readonly metrics: Metrics
}): void {
  new Gauge({
    name: 'earshot_webhook_oldest_undelivered_seconds',
    help: 'Age in seconds of the oldest event that an enabled webhook has not attempted, or that holds up later ones; 0 if there is none',
    registers: [metrics.registry],
    async collect() {
      this.reset()
      this.remove({})
      // If the database does not answer, only this gauge is missing.
      await oldestUndelivered(sql).then(
        (seconds) => this.set(seconds),
        () => {},
      )
    },
  })
}
