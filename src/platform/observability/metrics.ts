/**
 * Prometheus metrics of one process or thread. Each thread sends its registry as JSON to the main thread, which merges
 * them. So `/metrics` covers the whole process.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Reads the registries of other threads, each in the form of `registry.getMetricsAsJSON()`. */
type MetricsSource = () => Promise<readonly object[]>

export interface Metrics {
  readonly registry: Registry
  /** Read for every request of `/metrics`. Code that starts threads adds its source. */
  readonly sources: MetricsSource[]
  readonly httpRequests: Histogram<'method' | 'route' | 'status'>
  readonly turns: Counter<'kind' | 'outcome'>
  readonly turnSeconds: Histogram<'kind'>
  readonly activeActors: Gauge<'pool'>
  readonly lostWakeUps: Counter
}

/** A registry of its own for each call, so that tests and threads share no counter. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
    sources: [],
    httpRequests: new Histogram({
      name: 'earshot_http_request_seconds',
      help: 'Time to answer an HTTP request',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    turns: new Counter({
      name: 'earshot_actor_turns_total',
      help: 'Actor turns by outcome: done, failed (tried again), fenced (done over by another worker), dead_letter',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    turnSeconds: new Histogram({
      name: 'earshot_actor_turn_seconds',
      help: 'Time of one actor turn',
      labelNames: ['kind'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 10, 60, 600],
      registers,
    }),
    activeActors: new Gauge({
      name: 'earshot_actors_active',
      help: 'Actors being processed at this moment',
      labelNames: ['pool'],
      registers,
    }),
    lostWakeUps: new Counter({
      name: 'earshot_notifier_lost_total',
      help: 'Wake-ups that could not be delivered; the sweep finds their actors',
      registers,
    }),
  }
}

interface CounterOptions<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
}

/** The counter of this name, created on the first call. Features use it for their own metrics. */
export function counterOf<Label extends string>(
  { registry }: Pick<Metrics, 'registry'>,
  { name, help, labelNames }: CounterOptions<Label>,
): Counter<Label> {
  const existing = registry.getSingleMetric(name) as Counter<Label> | undefined
  return existing ?? new Counter({ name, help, labelNames: [...labelNames], registers: [registry] })
}
