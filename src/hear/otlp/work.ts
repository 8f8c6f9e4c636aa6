/**
 * The part of receiving traces that needs CPU time and no database: decoding, reading and redacting. It runs on the HTTP thread or on
 * another thread (platform/concurrency).
 */

import { jsonUnits } from '../../http/json-cost.ts'
import { join, sizeOf } from '../../platform/concurrency/parts.ts'
import type { Load, Spend, Work } from '../../platform/concurrency/work.ts'
import { REDACTED, type Redactor } from '../agents/events/redaction.ts'
import { createRedactors, type SettingsVersion } from '../agents/ingest/prepare.ts'
import { decodeRequest, type Encoding } from './decode.ts'
import type { KeptSpan, SpanFeedback, TraceRequest } from './model.ts'
import { type Ignored, readSpan } from './span.rules.ts'
import { attributesOf, compact, objectsOf } from './values.rules.ts'

export interface TraceInput extends SettingsVersion {
  readonly parts: Uint8Array[]
  readonly encoding: Encoding
  readonly applicationId: string
}

/** The spans of one trace in one request. */
export interface Piece {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  readonly hasRoot: boolean
  /** Microseconds since 1970. */
  readonly start: number
  /** The spans as JSON text. */
  readonly spans: string
  readonly count: number
}

export interface ReadTraces {
  readonly pieces: readonly Piece[]
  /** All spans of the request. */
  readonly spans: number
  readonly rejected: number
  /** Why the first rejected span was refused. */
  readonly reason: string | null
  /** Spans of which nothing becomes a message. */
  readonly ignored: Readonly<Record<Ignored, number>>
  /** The first span with input or output without words: its sender has to know, and no other spans are missed. Null: there is none. */
  readonly wordless: string | null
}

/** Units of about 10 ns, measured with recorded traces (bench/otlp.ts). */
const UNITS_PER_BYTE = { json: 0.5, protobuf: 3 } as const
const UNITS_PER_SPAN = 500

/** The load of a request. Attributes hold JSON that is parsed once more. */
export function traceLoad(caller: string, { parts, encoding }: Pick<TraceInput, 'parts' | 'encoding'>): Load {
  const bytes = sizeOf(parts)
  const own = bytes * UNITS_PER_BYTE[encoding]
  return { caller, bytes, units: encoding === 'json' ? own + jsonUnits(parts) : own, parts }
}

/** @throws AppError 400 where the request cannot be decoded */
export function createTraceWork(): Work<TraceInput, ReadTraces> {
  const redactors = createRedactors()
  return {
    name: 'read-traces',
    run(input, spend) {
      const request = decodeRequest(join(input.parts), input.encoding)
      const redactor = redactors.get(input.applicationId, input).within(spend)
      return readRequest(request, input.settings, redactor, spend)
    },
  }
}

function readRequest(
  request: TraceRequest,
  settings: TraceInput['settings'],
  redactor: Redactor,
  spend: Spend,
): ReadTraces {
  const kept: KeptSpan[] = []
  let spans = 0
  let rejected = 0
  let reason: string | null = null
  let wordless: string | null = null
  const ignored = { tool: 0, no_words: 0, no_content: 0 }
  const refuse = (why: string) => {
    rejected++
    reason ??= why
  }
  for (const { resource, scopeSpans } of objectsOf(request.resourceSpans)) {
    const of = attributesOf(resource?.attributes)
    for (const sent of objectsOf(scopeSpans).flatMap((scope) => objectsOf(scope.spans))) {
      spans++
      spend(UNITS_PER_SPAN)
      const reading = readSpan(sent, of)
      if ('refused' in reading) refuse(reading.refused)
      else if (reading.kept !== null && isBlocked(reading.kept, settings.allowedEnvironments))
        refuse(`the environment ${reading.kept.environment ?? '(none)'} is not allowed for this application`)
      else {
        if (reading.kept !== null) kept.push(redacted(reading.kept, settings.captureContent, redactor))
        if (reading.ignored !== undefined) ignored[reading.ignored]++
        if (reading.ignored === 'no_words') wordless ??= reading.id
      }
    }
  }
  const pieces = [...Map.groupBy(kept, ({ traceId }) => traceId)].map(([traceId, of]) => pieceOf(traceId, of))
  return { pieces, spans, rejected, reason, ignored, wordless }
}

/** Settings with environments refuse all others, as ingestion does. */
function isBlocked({ environment }: KeptSpan, allowed: readonly string[]): boolean {
  return allowed.length > 0 && (environment === undefined || !allowed.includes(environment))
}

function pieceOf(traceId: string, spans: readonly KeptSpan[]): Piece {
  return {
    traceId,
    hasRoot: spans.some(({ parent }) => parent === undefined),
    start: Math.min(...spans.map(({ start }) => start)),
    spans: JSON.stringify(spans),
    count: spans.length,
  }
}

/**
 * Redacted before anything is stored. The append redacts again under the settings of its time. Content that is not captured becomes
 * empty: there was a message, but not what it said.
 */
function redacted(span: KeptSpan, captures: boolean, redactor: Redactor): KeptSpan {
  if (captures && redactor.isIdentity) return span
  const text = (member: string, value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    if (!captures) return ''
    return redactor.hides(member) ? REDACTED : redactor.text(value)
  }
  const name = (member: string, value: string | undefined) =>
    captures && value !== undefined && !redactor.hides(member) ? redactor.text(value) : undefined
  const judged = (one: SpanFeedback) => compact({ ...one, comment: name('comment', one.comment) })
  return compact({
    ...span,
    question: text('content', span.question),
    answer: text('content', span.answer),
    guessed:
      span.guessed &&
      compact({
        question: text('content', span.guessed.question),
        answer: text('content', span.guessed.answer),
      }),
    user: span.user && {
      ...compact({ name: name('displayName', span.user.name), email: name('email', span.user.email) }),
      id: span.user.id,
    },
    feedback: span.feedback?.map(judged),
  })
}
