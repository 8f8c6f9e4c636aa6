/**
 * Shapes and limits of OTLP trace requests, and of the spans that are kept until their trace is complete.
 *
 * The request has the shape of the JSON encoding (opentelemetry-proto, docs/specification.md). The decoder of the binary encoding gives
 * the same members; only ids are bytes there, and integers of 64 bits are objects.
 */

/** Of a decompressed body. Exporters send at most 512 spans in a request. */
export const MAX_REQUEST_BYTES = 8 * 1024 * 1024
/** Messages within one request, such as spans and attributes. 512 spans with 100 attributes each have 103,000. */
export const MAX_REQUEST_VALUES = 250_000
/** Most characters of one message of a conversation. */
export const MAX_TEXT = 60_000
/** Most characters of ids and names. */
export const MAX_NAME = 512
/** Most bytes of the kept spans of one trace. */
export const MAX_TRACE_BYTES = 4 * 1024 * 1024
/** Spans of one trace that are looked at, the first in time. */
export const MAX_TRACE_SPANS = 1_000
/** A trace is complete once its root has arrived and nothing came for this long. Exporters send every five seconds. */
export const SETTLE_SECONDS = 10
/** The same for a trace whose root does not come, such as that of a web server that is not exported. */
export const OPEN_SECONDS = 120
/** Spans are kept for this long after the last one of their trace, because late ones may change its messages. */
export const KEPT_MINUTES = 60

/** An integer of 64 bits, as the binary decoder gives it. */
interface Long {
  toNumber(): number
}

export interface AnyValue {
  readonly stringValue?: string | null
  readonly boolValue?: boolean | null
  readonly intValue?: string | number | Long | null
  readonly doubleValue?: number | null
  readonly arrayValue?: { readonly values?: readonly AnyValue[] | null } | null
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] | null } | null
}

export interface KeyValue {
  readonly key?: string | null
  readonly value?: AnyValue | null
}

/** An id: bytes, or hexadecimal text. */
export type SentId = Uint8Array | string | null | undefined
/** Nanoseconds since 1970. */
export type SentTime = string | number | Long | null | undefined

export interface SentSpan {
  readonly traceId?: SentId
  readonly spanId?: SentId
  readonly parentSpanId?: SentId
  readonly name?: string | null
  readonly startTimeUnixNano?: SentTime
  readonly endTimeUnixNano?: SentTime
  readonly attributes?: readonly KeyValue[] | null
  readonly events?:
    | readonly {
        readonly name?: string | null
        readonly timeUnixNano?: SentTime
        readonly attributes?: readonly KeyValue[] | null
      }[]
    | null
}

export interface TraceRequest {
  readonly resourceSpans?:
    | readonly {
        readonly resource?: { readonly attributes?: readonly KeyValue[] | null } | null
        readonly scopeSpans?: readonly { readonly spans?: readonly SentSpan[] | null }[] | null
      }[]
    | null
}

/**
 * `agent`: a run of an agent; `model`: a call of a language model; `chain`: another step that has input and output; `other`: anything
 * else, of which only ids, the user and feedback matter.
 */
export type SpanKind = 'agent' | 'model' | 'chain' | 'other'

/** Feedback of a user about the answer of a span. */
export interface SpanFeedback {
  /** Microseconds since 1970. */
  readonly at: number
  readonly rating?: 'positive' | 'negative'
  readonly comment?: string
}

interface SpanUser {
  readonly id: string
  readonly name?: string
  readonly email?: string
}

/** What is kept of a span: no tools, no history, no attributes without meaning. Absent members were not sent. */
export interface KeptSpan {
  readonly traceId: string
  /** 16 hexadecimal digits, as in `parent`. */
  readonly id: string
  readonly parent?: string
  readonly kind: SpanKind
  /** Microseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly session?: string
  readonly user?: SpanUser
  /** The last message of the user in the input. */
  readonly question?: string
  /** How many messages of the user the input has. */
  readonly asked?: number
  /** The input goes on behind the question: a tool or the agent has answered it already. */
  readonly continues?: true
  readonly answer?: string
  /** Words that count where no other span of the turn has any: of a payload of an unknown shape, or of a step whose kind is unknown. */
  readonly guessed?: { readonly question?: string; readonly answer?: string }
  readonly model?: { readonly provider?: string; readonly name?: string }
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number }
  readonly feedback?: readonly SpanFeedback[]
  readonly environment?: string
  readonly release?: string
  readonly agentVersion?: string
}
