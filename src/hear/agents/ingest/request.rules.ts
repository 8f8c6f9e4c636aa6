/**
 * Checks an ingest request beyond its schema, without any stored data. Pure.
 *
 * One invalid event refuses the whole request. The error names the event: its index is in `eventIndex` and in the paths of the
 * details, its id is in `externalEventId` and in the message.
 */

import {
  AppError,
  type DetailCode,
  type ErrorCode,
  type ErrorDetail,
  type ErrorMembers,
} from '../../../platform/errors.ts'
import { validate } from '../../../platform/validation/json.ts'
import {
  type Event,
  MAX_EVENT_BYTES,
  MAX_EVENTS_PER_REQUEST,
  type Participant,
  saysNothing,
} from '../model.ts'
import { AppendRequest, IngestRequest } from '../request-model.ts'
import type { AgentSettings } from '../settings.ts'

/** Most findings that one error reports. */
const MAX_DETAILS = 20

/** Errors repeat an id only up to this length, because the id itself may be the fault. */
const MAX_NAMED_ID = 1024

/**
 * The parsed body as a request.
 * @throws AppError 400 `validation_failed` where it does not fit the schema
 */
export function parseRequest(body: unknown): IngestRequest {
  return parse(body, () => validate(IngestRequest, body))
}

/** As `parseRequest`, for a request whose events the service numbers. */
export function parseAppendRequest(body: unknown): AppendRequest {
  return parse(body, () => validate(AppendRequest, body))
}

function parse<R>(body: unknown, read: () => R): R {
  try {
    return read()
  } catch (error) {
    if (error instanceof AppError) throwFindings(body, error.details)
    throw error
  }
}

/**
 * Checks sizes, times, participants and feedback of a request that passed the schema.
 * @param bodyBytes size of the request as sent. In a body within the size limit of one event, no event has to be measured.
 * @param sent the events as sent, where `request` has them with further members
 * @throws AppError 400 `too_many_events`, `event_too_large`, `validation_failed`, `invalid_feedback_target`
 */
export function checkRequest(
  request: IngestRequest,
  bodyBytes: number,
  sent: readonly object[] = request.events,
): void {
  const { events } = request
  if (events.length > MAX_EVENTS_PER_REQUEST) {
    throw new AppError(
      'too_many_events',
      `events: ${events.length} events are more than the ${MAX_EVENTS_PER_REQUEST} that one request may hold`,
      { extra: { limit: MAX_EVENTS_PER_REQUEST, actual: events.length } },
    )
  }
  if (bodyBytes > MAX_EVENT_BYTES) checkEventSizes(events, sent)
  throwFindings(request, [
    ...participantFindings(request.participants ?? []),
    ...events.flatMap((event, index) => eventFindings(event, `events[${index}]`)),
  ])
  checkTargetsAreNamed(events)
}

/** An error about one event of a request. `path` is the member within the event, or empty for the event itself. */
export function eventError(
  code: ErrorCode & DetailCode,
  event: { readonly externalEventId: string },
  index: number,
  path: string,
  message: string,
  extra: ErrorMembers = {},
): AppError {
  const place = path === '' ? `events[${index}]` : `events[${index}].${path}`
  return new AppError(code, `${place} (${event.externalEventId}): ${message}`, {
    details: [{ path: place, code, message }],
    extra: { eventIndex: index, externalEventId: event.externalEventId, ...extra },
  })
}

interface WithEnvironment {
  readonly context?: { readonly environment?: string } | undefined
}

/** The environments that a request names. */
export interface EnvironmentSource extends WithEnvironment {
  readonly events: readonly (WithEnvironment & { readonly externalEventId: string })[]
}

/** The environment of an event: its own, or else that of the request, or else that of the stored session. */
function resolveEnvironment(
  event: WithEnvironment,
  request: WithEnvironment,
  storedEnvironment: string | null,
): string | null {
  return event.context?.environment ?? request.context?.environment ?? storedEnvironment
}

/**
 * Judges the environment of one event of a request. An empty list allows every environment, and events without one.
 * @returns null, or an AppError 400 `environment_not_allowed`
 */
export function environmentRefusal(
  request: EnvironmentSource,
  index: number,
  storedEnvironment: string | null,
  { allowedEnvironments }: Pick<AgentSettings, 'allowedEnvironments'>,
): AppError | null {
  const event = request.events[index]
  if (allowedEnvironments.length === 0 || event === undefined) return null
  const environment = resolveEnvironment(event, request, storedEnvironment)
  if (environment !== null && allowedEnvironments.includes(environment)) return null
  const message =
    environment === null
      ? 'is required: this application allows named environments only'
      : 'is not an allowed environment of this application'
  return eventError('environment_not_allowed', event, index, 'context.environment', message)
}

/** Measures the JSON of each event in UTF-8 without white space between members. */
function checkEventSizes(events: readonly Event[], sent: readonly object[]): void {
  for (const [index, event] of events.entries()) {
    const bytes = Buffer.byteLength(JSON.stringify(sent[index]))
    if (bytes <= MAX_EVENT_BYTES) continue
    throw eventError('event_too_large', event, index, '', `has more than ${MAX_EVENT_BYTES} bytes`, {
      limitBytes: MAX_EVENT_BYTES,
      actualBytes: bytes,
    })
  }
}

/** Checks that feedback names a message. event.rules.ts checks against the session that the message exists. */
function checkTargetsAreNamed(events: readonly Event[]): void {
  for (const [index, event] of events.entries()) {
    if (event.type !== 'feedback' || event.feedback?.targetEventExternalId) continue
    throw eventError(
      'invalid_feedback_target',
      event,
      index,
      'feedback.targetEventExternalId',
      'is required: feedback names the assistant_message that it is about',
    )
  }
}

function eventFindings(event: Event, path: string): ErrorDetail[] {
  const findings: ErrorDetail[] = []
  if (event.type !== 'feedback') {
    if (event.feedback !== undefined) {
      const message = 'is allowed on events of type feedback only'
      findings.push({ path: `${path}.feedback`, code: 'not_allowed', message })
    }
  } else if (event.feedback === undefined) {
    findings.push({ path: `${path}.feedback`, code: 'required', message: 'is required on a feedback event' })
  } else if (event.revision === 1 && saysNothing(event.feedback)) {
    const message =
      'must have a rating, labels or a comment; without them a higher revision retracts feedback'
    findings.push({ path: `${path}.feedback`, code: 'required', message })
  }
  return findings
}

function participantFindings(participants: readonly Participant[]): ErrorDetail[] {
  const findings: ErrorDetail[] = []
  const known = new Map<string, Participant>()
  for (const [index, participant] of participants.entries()) {
    const path = `participants[${index}]`
    const { externalId } = participant
    if (externalId === undefined) {
      const { displayName, username, email } = participant
      if ((displayName ?? username ?? email) === undefined) continue
      const message = 'is required with displayName, username or email'
      findings.push({ path: `${path}.externalId`, code: 'required', message })
    } else if (contradicts(known.get(externalId) ?? {}, participant)) {
      const message = 'names a participant that is given twice with different values'
      findings.push({ path: `${path}.externalId`, code: 'duplicate', message })
    } else {
      known.set(externalId, { ...known.get(externalId), ...participant })
    }
  }
  return findings
}

/** True where both participants have a member with different values. An absent member contradicts nothing. */
function contradicts(known: Participant, sent: Participant): boolean {
  const members = ['displayName', 'username', 'email', 'companyExternalId', 'boundary', 'personId'] as const
  return members.some(
    (name) => known[name] !== undefined && sent[name] !== undefined && known[name] !== sent[name],
  )
}

/** Throws where there are findings. `request` may have any shape, because this also reports requests that do not fit the schema. */
function throwFindings(request: unknown, findings: readonly ErrorDetail[]): void {
  const first = findings[0]
  if (first === undefined) return
  const eventIndex = Number(/^events\[(\d+)\]/.exec(first.path)?.[1] ?? Number.NaN)
  const externalEventId = idOfEvent(request, eventIndex)
  const named = externalEventId === undefined ? '' : ` (${externalEventId})`
  throw new AppError('validation_failed', `${first.path || 'The request'}${named}: ${first.message}`, {
    details: findings.slice(0, MAX_DETAILS),
    extra: {
      ...(Number.isNaN(eventIndex) ? {} : { eventIndex }),
      ...(externalEventId === undefined ? {} : { externalEventId }),
    },
  })
}

/** Undefined where `index` is NaN, or the event has no usable id. */
function idOfEvent(request: unknown, index: number): string | undefined {
  if (Number.isNaN(index)) return undefined
  const { events } = request as { readonly events: readonly (Partial<Event> | null)[] }
  const id: unknown = events[index]?.externalEventId
  return typeof id === 'string' && id.length <= MAX_NAMED_ID ? id : undefined
}
