/**
 * OpenTelemetry spans over real HTTP, durable before the response, and how much CPU one takes.
 *
 * Requests are copies of recorded traces of real frameworks with trace ids of their own, 512 spans each, as exporters send them. The
 * service has no workers, so the figures are those of receiving alone. The messages follow ten seconds later.
 */
import { cpuOfTree, postgresPid } from './support/cpu.ts'
import { openEnvironment, startService } from './support/environment.ts'
import { createTenant } from './support/ingestion.ts'
import { inParallel, table } from './support/measure.ts'
import { createBinary, type Encode, inJson, type SpanRequest } from './support/spans.ts'

const CALLERS = 4
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 60)
const RECORDINGS = ['ai-sdk-7', 'openai-agents', 'langfuse']

export async function benchOtlp(): Promise<void> {
  await using environment = await openEnvironment(CALLERS)
  await using service = await startService(environment, { ROLE: 'api' })
  const tenant = await createTenant(environment)
  const server = postgresPid(environment.databaseUrl)
  const cpu = () => [cpuOfTree(service.pid), cpuOfTree(server)] as const
  const send = async ({ body }: SpanRequest, type: string) => {
    const response = await fetch(`${service.baseUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': type, 'x-service-agent-key': tenant.agentSecret },
      body,
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }

  const rows: string[][] = []
  const encodings: readonly (readonly [string, string, Encode])[] = [
    ['binary', 'application/x-protobuf', createBinary()],
    ['JSON', 'application/json', inJson],
  ]
  for (const recording of RECORDINGS) {
    for (const [name, type, encode] of encodings) {
      await inParallel(8, CALLERS, () => send(encode(recording), type))
      const requests = Array.from({ length: REQUESTS }, () => encode(recording))
      const spans = requests.reduce((sum, one) => sum + one.spans, 0)
      const before = cpu()
      const started = performance.now()
      await inParallel(CALLERS, CALLERS, async () => {
        for (let next = requests.pop(); next !== undefined; next = requests.pop()) await send(next, type)
      })
      const seconds = (performance.now() - started) / 1_000
      const after = cpu()
      const perSpan = before.map((ms, part) => (((after[part] ?? 0) - ms) * 1_000) / spans)
      const [ours = Number.NaN] = perSpan
      rows.push([
        `${recording}, ${name}`,
        String(Math.round(spans / seconds)),
        ...perSpan.map((microseconds) => microseconds.toFixed(0)),
        String(Math.round(1_000_000 / ours)),
      ])
    }
  }
  console.log(`\nOpenTelemetry spans, ${CALLERS} callers, 512 spans a request, fsync on\n`)
  console.log(
    table(
      [
        'recording, encoding',
        'spans a second',
        'CPU a span, µs: service',
        'PostgreSQL',
        'spans a second and core',
      ],
      rows,
    ),
  )
}
