/** Turns a request into the data to store, under one version of the application's settings. Pure. */

import type { Spend } from '../../../platform/concurrency/work.ts'
import { type PreparedEvent, prepareEvent } from '../events/fingerprint.ts'
import { compileRedaction, type Redactor, type RulesVersion } from '../events/redaction.ts'
import { type EventBody, type SanitizedSession, sanitizeEvent, sanitizeSession } from '../events/sanitize.ts'
import type { Event } from '../model.ts'
import type { IngestRequest } from '../request-model.ts'
import type { AgentSettings } from '../settings.ts'
import type { EnvironmentSource } from './request.rules.ts'

/** One immutable version of an application's settings. */
export interface SettingsVersion {
  readonly version: number
  readonly settings: AgentSettings
}

/** The data of a request that storing needs. Plain data, because another thread may prepare it. */
export interface PreparedRequest {
  readonly externalSessionId: string
  readonly status: IngestRequest['status']
  readonly environments: EnvironmentSource
  readonly session: SanitizedSession
  /** In request order. `event.body` has only the members that decide about the event; `body` is the whole text to store. */
  readonly events: readonly PreparedEvent[]
  /**
   * For an append, whether each event said when it occurred; null for a request that numbered its events. The events of an append
   * have placeholders for sequence, revision and absent times, and their fingerprints mean nothing until `numberEvents`.
   */
  readonly timed: readonly boolean[] | null
  /** Paths of members that were sent and have no meaning; absent: there are none. */
  readonly ignored?: readonly string[]
}

/** Sanitises, serialises and hashes a request that passed `checkRequest`. @throws what `spend` throws */
export function prepare(
  request: IngestRequest,
  settings: AgentSettings,
  redactor: Redactor,
  spend: Spend,
  timed: readonly boolean[] | null = null,
): PreparedRequest {
  const within = redactor.within(spend)
  return {
    externalSessionId: request.externalSessionId,
    status: request.status,
    environments: {
      context: environmentOf(request),
      events: request.events.map((event) => ({
        externalEventId: event.externalEventId,
        context: environmentOf(event),
      })),
    },
    session: sanitizeSession(request, settings, within),
    events: request.events.map((event) => prepareOne(event, settings, within, spend)),
    timed,
  }
}

/** What was made of each event of a request, in request order, under each version of the rules of redaction. */
export type ByRules<T> = Readonly<Record<RulesVersion, readonly T[]>>

/** The fingerprints of the events under one settings version. */
export const fingerprintsOf = (
  request: IngestRequest,
  settings: AgentSettings,
  redactor: Redactor,
  spend: Spend,
): ByRules<Uint8Array> => byRules(request, settings, redactor, spend, ({ fingerprint }) => fingerprint)

/** The bodies of the events under one settings version. An append is compared by them, because it has no fingerprints yet. */
export const bodiesOf = (
  request: IngestRequest,
  settings: AgentSettings,
  redactor: Redactor,
  spend: Spend,
): ByRules<string> => byRules(request, settings, redactor, spend, ({ body }) => body)

function byRules<T>(
  request: IngestRequest,
  settings: AgentSettings,
  redactor: Redactor,
  spend: Spend,
  take: (event: PreparedEvent) => T,
): ByRules<T> {
  const within = redactor.within(spend)
  const by = (version: RulesVersion) =>
    request.events.map((event) => take(prepareOne(event, settings, within.under(version), spend)))
  return { 1: by(1), 2: by(2), 3: by(3) }
}

function environmentOf({ context }: Pick<IngestRequest, 'context'>) {
  return context?.environment === undefined ? undefined : { environment: context.environment }
}

function prepareOne(event: Event, settings: AgentSettings, redactor: Redactor, spend: Spend): PreparedEvent {
  const { event: sanitized, body, fingerprint } = prepareEvent(sanitizeEvent(event, settings, redactor))
  spend(body.length)
  const { externalEventId, sequence, revision, type, final, occurredAt } = sanitized
  const decisive = decisiveMembers(sanitized.body)
  return {
    event: { externalEventId, sequence, revision, type, final, occurredAt, body: decisive },
    body,
    fingerprint,
  }
}

const NONE: EventBody = {}
const VISIBLE: EventBody = { visible: true }

function decisiveMembers({ feedback, visible }: EventBody): EventBody {
  const target = feedback?.targetEventExternalId
  if (target === undefined) return visible === undefined ? NONE : VISIBLE
  return { feedback: { targetEventExternalId: target }, ...(visible === undefined ? {} : { visible }) }
}

/** Compiled redaction settings. They are kept, because compiling is expensive and a stored settings version never changes. */
export interface Redactors {
  get(applicationId: string, under: SettingsVersion): Redactor
}

/** Weight of all kept versions. A version weighs 1, and 1 more for each pattern. */
const CAPACITY = 4_000

/** Keeps the most recently used settings versions of this thread. */
export function createRedactors(): Redactors {
  const kept = new Map<string, { readonly redactor: Redactor; readonly weight: number }>()
  let weight = 0
  return {
    get(applicationId, { version, settings }) {
      const key = `${applicationId} ${version}`
      const known = kept.get(key)
      const one = known ?? {
        redactor: compileRedaction(settings),
        weight: 1 + settings.redactedPatterns.length,
      }
      if (known === undefined) weight += one.weight
      kept.delete(key)
      kept.set(key, one)
      for (const [oldest, { weight: less }] of kept) {
        if (weight <= CAPACITY || oldest === key) break
        kept.delete(oldest)
        weight -= less
      }
      return one.redactor
    },
  }
}
