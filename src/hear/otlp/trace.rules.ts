/**
 * Makes the messages of a conversation out of the kept spans of one trace. Pure, and a function of the set of spans: their order,
 * their grouping into requests, and repetitions do not matter.
 *
 * Only the outermost spans make messages: agents, or where there are none the outermost steps that have input or output, such as the
 * root. A span lies within another one where that is its ancestor. Spans between the two may be missing, so it does also where its time
 * lies within the other's. Each outermost span is a
 * turn: the last message of the user in its input, and its final answer. What it did not record itself comes from the model calls
 * within it. An outermost span without a new question belongs to the turn before it: the next step of a loop over tools, or the agent
 * that a conversation was handed over to.
 */
import type { AppendEvent, Context, Participant } from '../agents/model.ts'
import { type KeptSpan, MAX_TRACE_SPANS } from './model.ts'
import { compact } from './values.rules.ts'

/** The part of a session that a trace adds, as the members of an append request. */
export interface SessionPart {
  readonly externalSessionId: string
  /** Microseconds since 1970, of the first turn. */
  readonly start: number
  readonly agentVersion?: string
  readonly context?: Context
  readonly participants: readonly Participant[]
  readonly events: readonly AppendEvent[]
}

/** One turn: its outermost spans and everything within them, each in the order of time. */
interface Turn {
  readonly outer: readonly KeptSpan[]
  readonly within: readonly KeptSpan[]
}

/** A span that has the question or the answer of a turn, and its text. */
interface Words {
  readonly span: KeptSpan
  readonly text: string
}

/** The ids of the messages of a turn, for feedback that comes another way. `spanId` is that of its outermost span. */
const questionId = (traceId: string, spanId: string): string => `${traceId}-${spanId}-question`
const answerId = (traceId: string, spanId: string): string => `${traceId}-${spanId}-answer`

/** The sessions that a trace speaks in: usually one. Turns without a conversation id belong to a session named after the trace. */
export function sessionsOf(spans: readonly KeptSpan[]): readonly SessionPart[] {
  const all = inOrder(spans)
  const turns = turnsOf(all)
  const parts = turns.map((turn) => partOf(turn, all))
  return [...Map.groupBy(parts, ({ externalSessionId }) => externalSessionId).values()].map(joined)
}

/**
 * By time; of spans with the same times, parents first. Each id once: a span that was sent twice is the same. The first
 * `MAX_TRACE_SPANS`.
 */
function inOrder(spans: readonly KeptSpan[]): readonly KeptSpan[] {
  const byId = new Map<string, KeptSpan>()
  for (const span of spans) {
    const other = byId.get(span.id)
    if (other === undefined || JSON.stringify(span) < JSON.stringify(other)) byId.set(span.id, span)
  }
  const byTime = (a: KeptSpan, b: KeptSpan) => a.start - b.start || b.end - a.end
  const all = [...byId.values()].toSorted((a, b) => byTime(a, b) || (a.id < b.id ? -1 : 1))
  const first = all.slice(0, MAX_TRACE_SPANS)
  const depths = new Map(first.map((span) => [span.id, ancestorsOf(span, byId).size]))
  const depthOf = ({ id }: KeptSpan) => depths.get(id) ?? 0
  return first.toSorted((a, b) => byTime(a, b) || depthOf(a) - depthOf(b))
}

/** The ids of the spans above a span, as far as they are known. */
function ancestorsOf(span: KeptSpan, byId: ReadonlyMap<string, KeptSpan>): ReadonlySet<string> {
  const ancestors = new Set<string>()
  let at = span.parent
  while (at !== undefined && at !== span.id && !ancestors.has(at) && ancestors.size < MAX_TRACE_SPANS) {
    ancestors.add(at)
    at = byId.get(at)?.parent
  }
  return ancestors
}

function turnsOf(all: readonly KeptSpan[]): readonly Turn[] {
  const isWithin = relationOf(all)
  const agents = all.filter(({ kind }) => kind === 'agent')
  const speaking = all.filter(
    ({ kind, question, answer }) => kind !== 'other' && (question ?? answer) !== undefined,
  )
  const guessed = all.filter((span) => span.guessed !== undefined)
  const candidates = [agents, speaking, guessed].find((spans) => spans.length > 0) ?? []
  const turns: { outer: KeptSpan[]; within: readonly KeptSpan[] }[] = []
  for (const outer of candidates.filter((span) => !candidates.some((other) => isWithin(span, other)))) {
    const within = all.filter((span) => span.kind !== 'other' && isWithin(span, outer))
    const last = turns.at(-1)
    if (last !== undefined && goesOn(last, { outer: [outer], within })) {
      last.outer.push(outer)
      last.within = [...last.within, ...within]
    } else turns.push({ outer: [outer], within })
  }
  return turns.filter((turn) => questionIn(turn) !== undefined || answerIn(turn) !== undefined)
}

/** Whether a span lies within another one. Of ordered spans, what contains a span stands before it, or is its ancestor. */
function relationOf(ordered: readonly KeptSpan[]): (span: KeptSpan, outer: KeptSpan) => boolean {
  const byId = new Map(ordered.map((span) => [span.id, span]))
  const places = new Map(ordered.map(({ id }, index) => [id, index]))
  const ancestors = new Map(ordered.map((span) => [span.id, ancestorsOf(span, byId)]))
  const is = (map: ReadonlyMap<string, ReadonlySet<string>>, of: KeptSpan, outer: KeptSpan) =>
    map.get(of.id)?.has(outer.id) ?? false
  return (span, outer) => {
    if (is(ancestors, span, outer)) return true
    if (is(ancestors, outer, span)) return false
    return (
      (places.get(outer.id) ?? 0) < (places.get(span.id) ?? 0) &&
      outer.start <= span.start &&
      span.end <= outer.end
    )
  }
}

/** True where the span asks nothing that the turn before it did not ask. */
function goesOn(before: Turn, next: Turn): boolean {
  const asked = questionIn(next)
  if (asked === undefined) return true
  const earlier = questionIn(before)
  if (earlier === undefined) return false
  const same = asked.text === earlier.text && asked.span.asked === earlier.span.asked
  return same && sessionIn(before) === sessionIn(next)
}

/**
 * The first span with a question. The outermost spans stand before the model calls within them. A guess counts where no span has read
 * words.
 */
function questionIn({ outer, within }: Turn): Words | undefined {
  const all = [...outer, ...within]
  const span = all.find(({ question }) => question !== undefined)
  if (span !== undefined) return { span, text: span.question as string }
  const guess = all.find(({ guessed }) => guessed?.question !== undefined)
  return guess && { span: guess, text: guess.guessed?.question as string }
}

/** The span with the final answer: the last outermost one, or else the model call that ended last. Guesses count as in questions. */
function answerIn({ outer, within }: Turn): Words | undefined {
  for (const textOf of [(span: KeptSpan) => span.answer, (span: KeptSpan) => span.guessed?.answer]) {
    const span =
      outer.findLast((one) => textOf(one) !== undefined) ??
      within
        .filter((one) => textOf(one) !== undefined)
        .toSorted((a, b) => a.end - b.end)
        .at(-1)
    if (span !== undefined) return { span, text: textOf(span) as string }
  }
  return undefined
}

function sessionIn({ outer, within }: Turn): string | undefined {
  return firstOf([...outer, ...within], ({ session }) => session)
}

function firstOf<T>(spans: readonly KeptSpan[], take: (span: KeptSpan) => T | undefined): T | undefined {
  for (const span of spans) {
    const value = take(span)
    if (value !== undefined) return value
  }
  return undefined
}

function partOf(turn: Turn, all: readonly KeptSpan[]): SessionPart {
  const spans = [...turn.outer, ...turn.within, ...all]
  const first = turn.outer[0] as KeptSpan
  const user = firstOf(spans, (span) => span.user)
  const context = compact({
    environment: firstOf(spans, ({ environment }) => environment),
    release: firstOf(spans, ({ release }) => release),
  })
  return compact({
    externalSessionId: firstOf(spans, ({ session }) => session) ?? first.traceId,
    start: first.start,
    agentVersion: firstOf(spans, ({ agentVersion }) => agentVersion),
    context: Object.keys(context).length > 0 ? context : undefined,
    participants:
      user === undefined ? [] : [compact({ externalId: user.id, displayName: user.name, email: user.email })],
    events: eventsOf(turn, all, user?.id),
  })
}

function eventsOf(turn: Turn, all: readonly KeptSpan[], userId: string | undefined): readonly AppendEvent[] {
  const { traceId, id, start } = turn.outer[0] as KeptSpan
  const asks = questionIn(turn)
  const answers = answerIn(turn)
  const events: AppendEvent[] = []
  // A turn that only goes on behind a known question repeats it: its trace is the next step of a loop over tools.
  if (asks !== undefined && !asks.span.continues)
    events.push(
      compact({
        externalEventId: questionId(traceId, id),
        type: 'user_message',
        occurredAt: momentOf(start),
        participantExternalId: userId,
        content: asks.text,
        trace: { traceId, spanId: id },
      }),
    )
  if (answers === undefined) return events
  events.push(responseOf(turn, answers))
  return [...events, ...feedbackIn(turn, all, userId)]
}

function responseOf(turn: Turn, { span: answers, text }: Words): AppendEvent {
  const { traceId, id, start } = turn.outer[0] as KeptSpan
  const end = Math.max(...turn.outer.map((span) => span.end))
  const models = turn.within.filter(({ kind }) => kind === 'model')
  const last = models.findLast(({ model }) => model !== undefined)
  const model = compact({
    provider: answers.model?.provider ?? last?.model?.provider,
    name: answers.model?.name ?? last?.model?.name,
  })
  const usage = compact({
    inputTokens: tokensOf(turn, models, 'inputTokens'),
    outputTokens: tokensOf(turn, models, 'outputTokens'),
    latencyMs: Math.round((end - start) / 1_000),
  })
  return compact({
    externalEventId: answerId(traceId, id),
    type: 'assistant_message',
    occurredAt: momentOf(end),
    content: text,
    model: Object.keys(model).length > 0 ? model : undefined,
    usage,
    trace: { traceId, spanId: id },
  })
}

/** An outermost span has the sum of its model calls. Where it does not say so, the sum of those is taken. */
function tokensOf(turn: Turn, models: readonly KeptSpan[], member: 'inputTokens' | 'outputTokens') {
  const sum = (spans: readonly KeptSpan[]) => {
    const numbers = spans.flatMap(({ usage }) => usage?.[member] ?? [])
    return numbers.length > 0 ? numbers.reduce((a, b) => a + b, 0) : undefined
  }
  return sum(turn.outer) ?? sum(models)
}

/** Feedback on spans of the turn, or on spans whose parent is one of its spans. It may come long after the turn. */
function feedbackIn(turn: Turn, all: readonly KeptSpan[], userId: string | undefined): AppendEvent[] {
  const { traceId, id } = turn.outer[0] as KeptSpan
  const ids = new Set([...turn.outer, ...turn.within].map((span) => span.id))
  const judges = all.filter((span) => ids.has(span.id) || ids.has(span.parent ?? ''))
  return judges.flatMap((span) =>
    (span.feedback ?? []).map(({ at, rating, comment }, index) =>
      compact({
        externalEventId: `${traceId}-${span.id}-feedback-${index + 1}`,
        type: 'feedback',
        occurredAt: momentOf(at),
        participantExternalId: span.user?.id ?? userId,
        feedback: compact({ targetEventExternalId: answerId(traceId, id), rating, comment }),
      }),
    ),
  )
}

const momentOf = (microseconds: number): string => {
  const seconds = new Date(Math.floor(microseconds / 1_000)).toISOString().slice(0, -1)
  return `${seconds}${String(microseconds % 1_000).padStart(3, '0')}Z`
}

/** Parts of one session as one, in the order of their turns. Their users are participants together. */
export function joined(parts: readonly SessionPart[]): SessionPart {
  const [first, ...more] = parts.toSorted((a, b) => a.start - b.start) as [SessionPart, ...SessionPart[]]
  const participants = new Map(parts.flatMap((part) => part.participants).map((one) => [one.externalId, one]))
  return {
    ...first,
    participants: [...participants.values()],
    events: [first, ...more].flatMap(({ events }) => events),
  }
}
