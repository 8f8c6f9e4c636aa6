/**
 * The actor of an application’s traces makes the messages of complete traces and appends them to their sessions.
 *
 * An append is recognised when it is repeated, so a turn that is tried again changes nothing. One actor for an application keeps the
 * turns of a conversation in order, of which each is a trace of its own.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition, LongTurn } from '../../actors/types.ts'
import { traceMessages } from '../../kernel/messages/trace.ts'
import { runningErasures } from '../../people/running-erasures.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import { AppError } from '../../platform/errors.ts'
import type { Applications } from '../agents/applications/service.ts'
import type { Ingest } from '../agents/ingest/service.ts'
import { MAX_EVENTS_PER_REQUEST, MAX_REQUEST_BYTES } from '../agents/model.ts'
import type { AppendRequest } from '../agents/request-model.ts'
import type { KeptSpan } from './model.ts'
import { type ApplicationRef, type DueTrace, dueTraces, piecesOf, settleTraces } from './store.ts'
import { joined, type SessionPart, sessionsOf } from './trace.rules.ts'

/** Traces of one step. Each has at most `MAX_TRACE_BYTES` of spans, usually a few kilobytes. */
const TRACES = 100
/** Steps of one turn. The next round of maintenance wakes the actor again where more is due. */
const STEPS = 50
const SESSIONS_AT_ONCE = 4
const MAX_ATTEMPTS = 60
const SOURCE = { sdk: 'opentelemetry' } as const

export interface TraceActorDeps {
  readonly append: Ingest['append']
  readonly applications: Pick<Applications, 'loadForIngest'>
}

export function traceActor(deps: TraceActorDeps): ActorDefinition {
  return defineActor(traceMessages, {
    maxAttempts: MAX_ATTEMPTS,
    handlers: {
      async settle(turn) {
        const ref = { organizationId: turn.organization, applicationId: turn.message.id }
        for (let step = 0; step < STEPS; step++) {
          turn.signal.throwIfAborted()
          if ((await settleSome(deps, turn, ref)) < TRACES) break
        }
        await turn.finish(async () => {})
      },
    },
  })
}

/** @returns how many traces were due */
async function settleSome(deps: TraceActorDeps, turn: LongTurn, ref: ApplicationRef): Promise<number> {
  const due = await turn.read((tx) => dueTraces(tx, ref, TRACES))
  if (due.length === 0) return 0
  const pieces = await turn.read((tx) => piecesOf(tx, ref, due))
  const erasures = await turn.read((tx) => runningErasures(tx, ref.organizationId))
  const spansOf = Map.groupBy(pieces, ({ traceId }) => traceId)
  const parts = due.flatMap(({ traceId, version, receivedAt }) =>
    sessionsOf((spansOf.get(traceId) ?? []).flatMap(({ spans }) => spans as readonly KeptSpan[])).map(
      (part) => ({
        ...part,
        receivedAt: receivedAt ?? version,
      }),
    ),
  )
  await appendAll(deps, turn, ref, parts, erasures)
  await turn.step((tx) => settleTraces(tx, ref, due as readonly DueTrace[]))
  return due.length
}

async function appendAll(
  { append, applications }: TraceActorDeps,
  { signal, log }: LongTurn,
  ref: ApplicationRef,
  parts: readonly ReceivedPart[],
  erasures: readonly string[],
): Promise<void> {
  if (parts.length === 0) return
  const { agentKey } = await applications.loadForIngest(ref.organizationId, ref.applicationId)
  const principal = { kind: 'agent', ...ref, secretId: '' } as const
  const sessions = [...Map.groupBy(parts, ({ externalSessionId }) => externalSessionId).values()]
  const places = new Semaphore(SESSIONS_AT_ONCE)
  await Promise.all(
    sessions.map(async (session) => {
      const leave = await places.acquire(signal)
      try {
        for (const { receivedAt, ...part } of byReceipt(session, erasures)) {
          for (const body of requestsOf(agentKey, part)) {
            signal.throwIfAborted()
            const refusal = await refusalOf(append(principal, async () => [body], receivedAt))
            if (refusal === null) continue
            log.warn({ session: part.externalSessionId, err: refusal }, 'messages of traces refused')
          }
        }
      } finally {
        leave()
      }
    }),
  )
}

/** A part of a session, with the time at which the first span of its trace was received. */
type ReceivedPart = SessionPart & { readonly receivedAt: string }

/** The parts of a session as one, but for erasures that run: what was received before one is separate from what was received later. */
function byReceipt(parts: readonly ReceivedPart[], erasures: readonly string[]): readonly ReceivedPart[] {
  const groups = Map.groupBy(parts, ({ receivedAt }) => erasures.filter((at) => at < receivedAt).length)
  return [...groups.entries()]
    .toSorted(([a], [b]) => a - b)
    .map(([, group]) => ({
      ...joined(group),
      receivedAt: group.map(({ receivedAt }) => receivedAt).toSorted()[0] as string,
    }))
}

/** The refusal of messages that no repetition would change. @throws any other error, after which the turn is repeated */
async function refusalOf(appended: Promise<unknown>): Promise<AppError | null> {
  try {
    await appended
    return null
  } catch (error) {
    if (error instanceof AppError && !TRY_AGAIN.has(error.code)) return error
    throw error
  }
}

const TRY_AGAIN: ReadonlySet<string> = new Set(['unavailable', 'internal_error', 'rate_limited'])

/** Bytes beside the events: ids, context and participants have bounded lengths. */
const ROOM = 64 * 1024

type Sent = Omit<AppendRequest, 'participants'> & Pick<SessionPart, 'participants'>

/** Append requests with the events of a session, each within the limits of a request. */
function* requestsOf(agentKey: string, session: SessionPart): Generator<Uint8Array> {
  const { start: _, events, ...members } = session
  let batch: (typeof events)[number][] = []
  let bytes = ROOM
  for (const event of events) {
    const size = Buffer.byteLength(JSON.stringify(event))
    if (batch.length === MAX_EVENTS_PER_REQUEST || bytes + size > MAX_REQUEST_BYTES) {
      yield bodyOf({ agentKey, source: SOURCE, ...members, events: batch })
      batch = []
      bytes = ROOM
    }
    batch.push(event)
    bytes += size
  }
  if (batch.length > 0) yield bodyOf({ agentKey, source: SOURCE, ...members, events: batch })
}

const bodyOf = (request: Sent): Uint8Array => Buffer.from(JSON.stringify(request))
