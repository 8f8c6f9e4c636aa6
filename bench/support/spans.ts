/** Recorded traces as requests of any number, each with traces of its own. */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'

const ROOT = new URL('../../', import.meta.url).pathname
const PROTO = `${ROOT}src/hear/otlp/proto/`

interface Spans {
  readonly spans: readonly {
    readonly traceId: string
    readonly spanId: string
    readonly parentSpanId?: string
  }[]
}
interface Recording {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly Spans[] }[]
}

/** Copies of a recording until the request has at least this many spans. Exporters send at most 512. */
const SPANS = 512

export interface SpanRequest {
  readonly body: Uint8Array<ArrayBuffer>
  readonly spans: number
}

export type Encode = (recording: string) => SpanRequest

const trace = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

function copies(recording: string): { readonly request: object; readonly spans: number } {
  const lines = readFileSync(`${ROOT}tests/fixtures/otlp/${recording}.jsonl`, 'utf8').trim().split('\n')
  const resourceSpans: unknown[] = []
  let spans = 0
  while (spans < SPANS) {
    const ids = new Map<string, string>()
    for (const line of lines) {
      const { resourceSpans: some } = JSON.parse(line, (name, value) => {
        if (name !== 'traceId') return value
        const id = ids.get(value) ?? trace()
        ids.set(value, id)
        return id
      }) as Recording
      resourceSpans.push(...some)
      spans += some.flatMap(({ scopeSpans }) => scopeSpans).flatMap((scope) => scope.spans).length
    }
  }
  return { request: { resourceSpans }, spans }
}

const buffer = (bytes: Uint8Array) => new Uint8Array(bytes)

export const inJson: Encode = (recording) => {
  const { request, spans } = copies(recording)
  return { body: buffer(Buffer.from(JSON.stringify(request))), spans }
}

export function createBinary(): Encode {
  const root = new protobuf.Root()
  root.resolvePath = (_, target) => `${PROTO}${target.replace(PROTO, '')}`
  root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto')
  const type = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest')
  return (recording) => {
    const { request, spans } = copies(recording)
    const withBytes = JSON.parse(JSON.stringify(request), (name, value) =>
      ['traceId', 'spanId', 'parentSpanId'].includes(name)
        ? Buffer.from(value, 'hex').toString('base64')
        : value,
    )
    return { body: buffer(type.encode(type.fromObject(withBytes)).finish()), spans }
  }
}
