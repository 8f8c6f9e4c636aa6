/**
 * Sanitises a request: keeps known members only, redacts them, and drops content where capture is off.
 *
 * It runs before hashing and storing. No other code builds stored events. Members that order and identify events (ids, sequence,
 * revision, type, times) stay unchanged, because the service recognises retries by them. A member that is redacted by name and
 * cannot hold text is left out.
 */
import { toUtc } from '../../../platform/validation/rfc3339.ts'
import {
  type Context,
  type Event,
  type Feedback,
  type Participant,
  type Rating,
  saysNothing,
} from '../model.ts'
import type { IngestRequest } from '../request-model.ts'
import type { AgentSettings } from '../settings.ts'
import { REDACTED, type Redactor } from './redaction.ts'
import { isVisible } from './visibility.ts'

/** The part of an event that is stored as JSON. An absent member is never stored as null. */
export interface EventBody {
  readonly content?: unknown
  readonly context?: Context
  readonly feedback?: SanitizedFeedback
  readonly model?: { readonly provider?: string; readonly name?: string }
  readonly participantExternalId?: string
  readonly trace?: { readonly traceId?: string; readonly spanId?: string }
  readonly usage?: {
    readonly inputTokens?: number
    readonly outputTokens?: number
    readonly latencyMs?: number
  }
  /** True for an assistant response with visible content, judged before content is dropped. Otherwise absent. */
  readonly visible?: true
}

interface SanitizedFeedback {
  readonly targetEventExternalId?: string
  readonly rating?: Rating
  /** True where the feedback was sent without rating, labels and comment, which retracts earlier revisions. Otherwise absent. */
  readonly retracted?: true
  readonly labels?: readonly string[]
  readonly comment?: string
}

export interface SanitizedEvent {
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly type: string
  readonly final: boolean
  /** In UTC with microseconds, so that equal times have equal texts. */
  readonly occurredAt: string
  readonly body: EventBody
}

/** The members of a request that describe its session. */
export interface SanitizedSession {
  readonly agentVersion?: string
  readonly source?: { readonly sdk?: string; readonly version?: string }
  readonly context?: Context
  readonly participants: readonly Participant[]
}

export type SanitizeSettings = Pick<AgentSettings, 'captureContent' | 'allowedEnvironments'>

/** Sanitises one event that passed the schema and `checkRequest`. */
export function sanitizeEvent(event: Event, settings: SanitizeSettings, redactor: Redactor): SanitizedEvent {
  return {
    externalEventId: event.externalEventId,
    sequence: event.sequence,
    revision: event.revision,
    type: event.type,
    final: event.final ?? true,
    occurredAt: toUtc(event.occurredAt) ?? event.occurredAt,
    body: sanitizeBody(event, settings, redactor),
  }
}

/** Members are in the order of their names, as in the canonical text. So the canonical text needs no copy. */
function sanitizeBody(event: Event, settings: SanitizeSettings, redactor: Redactor): EventBody {
  const pick = picker(redactor)
  const visible = event.type === 'assistant_message' && isVisible(event.content)
  const { captureContent } = settings
  return compact({
    content: captureContent ? pick.json('content', event.content) : undefined,
    context: pick.shape('context', event.context, (context) => sanitizeContext(context, settings, redactor)),
    feedback: event.feedback && sanitizeFeedback(event.feedback, captureContent, redactor),
    model: pick.shape('model', event.model, (model) => ({
      name: pick.text('name', model.name),
      provider: pick.text('provider', model.provider),
    })),
    participantExternalId: event.participantExternalId,
    trace: pick.shape('trace', event.trace, (trace) => ({
      spanId: pick.text('spanId', trace.spanId),
      traceId: pick.text('traceId', trace.traceId),
    })),
    usage: pick.shape('usage', event.usage, (usage) => ({
      inputTokens: pick.fixed('inputTokens', usage.inputTokens),
      latencyMs: pick.fixed('latencyMs', usage.latencyMs),
      outputTokens: pick.fixed('outputTokens', usage.outputTokens),
    })),
    visible: visible || undefined,
  })
}

/** The target identifies an event, so it stays even where `feedback` itself is a redacted field. */
function sanitizeFeedback(
  feedback: Feedback,
  captureContent: boolean,
  redactor: Redactor,
): SanitizedFeedback {
  const { targetEventExternalId } = feedback
  const retracted = saysNothing(feedback) || undefined
  if (redactor.hides('feedback')) return compact({ retracted, targetEventExternalId })
  const pick = picker(redactor)
  return compact({
    comment: captureContent ? pick.text('comment', feedback.comment) : undefined,
    labels: pick.fixed('labels', feedback.labels)?.map((label) => redactor.text(label)),
    rating: pick.fixed('rating', feedback.rating),
    retracted,
    targetEventExternalId,
  })
}

/**
 * Sanitises the context of a session or of an event. An environment that the settings list stays unredacted, because later requests
 * are checked against it.
 */
function sanitizeContext(context: Context, settings: SanitizeSettings, redactor: Redactor): Context {
  const pick = picker(redactor)
  const { environment } = context
  const listed = environment !== undefined && settings.allowedEnvironments.includes(environment)
  return compact({
    entityId: pick.text('entityId', context.entityId),
    entityType: pick.text('entityType', context.entityType),
    entryPoint: pick.text('entryPoint', context.entryPoint),
    environment: listed ? environment : pick.text('environment', environment),
    pathname: pick.text('pathname', context.pathname),
    productArea: pick.text('productArea', context.productArea),
    // Free-form members may contain content, so they are dropped with it.
    properties: settings.captureContent ? pick.properties('properties', context.properties) : undefined,
    release: pick.text('release', context.release),
    routeTemplate: pick.text('routeTemplate', context.routeTemplate),
    surface: pick.text('surface', context.surface),
  })
}

/** Sanitises participants. Names are content: they are kept only while content is captured. */
export function sanitizeParticipants(
  participants: readonly Participant[],
  settings: SanitizeSettings,
  redactor: Redactor,
): Participant[] {
  const pick = picker(redactor)
  const { captureContent } = settings
  return participants.map((participant) =>
    compact({
      boundary: pick.fixed('boundary', participant.boundary),
      companyExternalId: pick.text('companyExternalId', participant.companyExternalId),
      displayName: captureContent ? pick.text('displayName', participant.displayName) : undefined,
      email: captureContent ? pick.text('email', participant.email) : undefined,
      externalId: participant.externalId,
      personId: pick.fixed('personId', participant.personId),
      username: captureContent ? pick.text('username', participant.username) : undefined,
    }),
  )
}

/** Sanitises the members of a request that describe its session. */
export function sanitizeSession(
  request: IngestRequest,
  settings: SanitizeSettings,
  redactor: Redactor,
): SanitizedSession {
  const pick = picker(redactor)
  return compact({
    agentVersion: pick.text('agentVersion', request.agentVersion),
    context: pick.shape('context', request.context, (context) =>
      sanitizeContext(context, settings, redactor),
    ),
    participants: sanitizeParticipants(request.participants ?? [], settings, redactor),
    source: pick.shape('source', request.source, (source) => ({
      sdk: pick.text('sdk', source.sdk),
      version: pick.text('version', source.version),
    })),
  })
}

/** Functions that redact a member, by its type. */
function picker(redactor: Redactor) {
  return {
    /** Text: redacted by name or by pattern. */
    text: (name: string, value: string | undefined) =>
      value === undefined ? undefined : redactor.hides(name) ? REDACTED : redactor.text(value),
    /** Any JSON: redacted by name or by pattern. */
    json: (name: string, value: unknown) =>
      value === undefined ? undefined : redactor.hides(name) ? REDACTED : redactor.value(value),
    /** A number or an enumerated word. It cannot hold the replacement text, so it is left out when redacted by name. */
    fixed: <T>(name: string, value: T | undefined) => (redactor.hides(name) ? undefined : value),
    /** An object of free-form members. It is left out when redacted by name, otherwise its members are redacted. */
    properties: <T>(name: string, value: T | undefined) =>
      value === undefined || redactor.hides(name) ? undefined : (redactor.value(value) as T),
    /** An object of known members. It is left out when redacted by name, otherwise `take` redacts its members. */
    shape: <T extends object, R extends object>(
      name: string,
      value: T | undefined,
      take: (value: T) => R,
    ): R | undefined => (value === undefined || redactor.hides(name) ? undefined : compact(take(value))),
  }
}

/** The object without its undefined members. */
function compact<T extends object>(value: T): T {
  const result: Partial<T> = {}
  for (const name in value) if (value[name] !== undefined) result[name] = value[name]
  return result as T
}
