/**
 * Traces of agents as OpenTelemetry spans (OTLP/HTTP).
 *
 * A request stores what its spans say, redacted, and answers. The messages follow when the trace is complete (actor.ts): its spans
 * come in several requests, and which of them is the outermost shows only then.
 */

import { createEventQuota } from '../../access/quotas/service.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Principal } from '../../kernel/principal.ts'
import { AppError } from '../../platform/errors.ts'
import { counterOf } from '../../platform/observability/metrics.ts'
import type { Applications } from '../agents/applications/service.ts'
import type { Rejection } from './answer.ts'
import type { Encoding } from './decode.ts'
import { MAX_TRACE_BYTES } from './model.ts'
import { insertPieces } from './store.ts'
import { createTraceWork, type Piece, type ReadTraces, traceLoad } from './work.ts'

export type AgentPrincipal = Extract<Principal, { kind: 'agent' }>

interface TraceBody {
  readonly parts: Uint8Array[]
  readonly encoding: Encoding
}

export interface Traces {
  /**
   * Stores the spans of a request that conversations need. When it returns they are durable.
   * @returns the rejected spans, for the answer
   * @throws AppError 404 `agent_chats_disabled`; 400 where the body cannot be decoded; 503; 507 `quota_exceeded`
   */
  receive(principal: AgentPrincipal, readBody: () => Promise<TraceBody>): Promise<Rejection>
}

type TracesDeps = Pick<Deps, 'sql' | 'newId' | 'metrics' | 'requestWork' | 'config'>

export function createTraces(deps: TracesDeps, applications: Pick<Applications, 'loadForIngest'>): Traces {
  const work = createTraceWork()
  const count = createCount(deps)
  const quota = createEventQuota(deps)
  return {
    async receive(principal, readBody) {
      const { organizationId, applicationId } = principal
      const {
        chatsEnabled,
        settings,
        settingsVersion: version,
      } = await applications.loadForIngest(organizationId, applicationId)
      if (!chatsEnabled)
        throw new AppError('agent_chats_disabled', 'Agent Chats are not enabled for this workspace.')
      const body = await readBody()
      // How many events the spans become shows later. A full quota takes none.
      const settle = await quota.reserve(organizationId, 1)
      settle(0)
      const input = { ...body, applicationId, version, settings }
      const read = await deps.requestWork.run(work, input, traceLoad(organizationId, body))
      const rejection = await store(deps, principal, read)
      count(read, rejection.spans)
      return rejection
    },
  }
}

const TOO_LARGE = `a trace has more than ${MAX_TRACE_BYTES} bytes of messages`

async function store(deps: TracesDeps, principal: AgentPrincipal, read: ReadTraces): Promise<Rejection> {
  const fits = ({ spans }: Piece) => Buffer.byteLength(spans) <= MAX_TRACE_BYTES
  const pieces = read.pieces.filter(fits).map((piece) => ({ ...piece, id: deps.newId() }))
  const taken = pieces.length === 0 ? new Set<string>() : await insertPieces(deps.sql, principal, pieces)
  const full = read.pieces.filter(({ traceId }) => !taken.has(traceId))
  const spans = read.rejected + full.reduce((sum, piece) => sum + piece.count, 0)
  return { spans, message: read.reason ?? (full.length > 0 ? TOO_LARGE : wordlessMessage(read)) }
}

/** Empty where every span with input or output has words. Those of tools, HTTP and databases need none. */
function wordlessMessage({ wordless, ignored: { no_words } }: ReadTraces): string {
  if (wordless === null) return ''
  const which = no_words === 1 ? `span ${wordless}` : `${no_words} spans, such as ${wordless},`
  return `no message of a person or an agent was found in the input or output of ${which}`
}

function createCount({ metrics }: TracesDeps): (read: ReadTraces, rejected: number) => void {
  const counter = counterOf(metrics, {
    name: 'earshot_otlp_spans_total',
    help:
      'OpenTelemetry spans by outcome: accepted, rejected, or ignored, because nothing of them becomes a message. Reasons of ignored ' +
      'ones: tool, no_words (input or output without readable messages), no_content (neither)',
    labelNames: ['outcome', 'reason'],
  })
  return ({ spans, ignored }, rejected) => {
    const reasons = Object.entries(ignored)
    const unused = reasons.reduce((sum, [, number]) => sum + number, 0)
    counter.inc({ outcome: 'accepted' }, Math.max(0, spans - rejected - unused))
    counter.inc({ outcome: 'rejected' }, rejected)
    for (const [reason, number] of reasons)
      if (number > 0) counter.inc({ outcome: 'ignored', reason }, number)
  }
}
