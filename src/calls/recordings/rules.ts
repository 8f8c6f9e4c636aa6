/**
 * Validates requests about recordings as far as the request alone allows (specification, "Create"). Pure.
 *
 * Everything that needs no database is checked here, before a transaction begins. Each finding names its path.
 */

import {
  type Analysis,
  analysisOf,
  type ReadSubject,
  unreadRecording,
} from '../../analysis/findings/coverage.rules.ts'
import type { AssetStatus } from '../../kernel/asset-status.ts'
import type { ErrorDetail } from '../../platform/errors.ts'
import type { OutboundPolicy } from '../../platform/net/outbound-url.ts'
import { DATE_TIME_EXAMPLE } from '../../platform/validation/formats.ts'
import { invalid } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { toUtc } from '../../platform/validation/rfc3339.ts'
import { contactAddress } from '../../platform/validation/user-address.ts'
import type { RecordInput, ValueInput } from '../metadata/model.ts'
import type { Utterance } from '../transcripts/model.ts'
import { checkSpeakers, checkTranscript } from '../transcripts/rules.ts'
import type { Awaited, TranscriptError, TranscriptStatus } from '../transcripts/states.ts'
import { type CreateRecording, DEFAULT_SOURCE, type ParticipantInput, type UpdateRecording } from './model.ts'

/** Maximum number of findings reported for a request. */
const MAX_FINDINGS = 20

/** A person by id, or by address with optional names. */
export type Participant =
  | { readonly speaker: number; readonly personId: string }
  | {
      readonly speaker: number
      readonly email: string
      readonly firstName?: string
      readonly lastName?: string
    }

/** A request without findings. Ids are in lower case, times in UTC. */
export interface RecordingDraft {
  readonly displayName: string | null
  readonly source: string
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly summary: string | null
  readonly assetUrl: string | null
  /** null: none was supplied. */
  readonly transcript: readonly Utterance[] | null
  readonly participants: readonly Participant[]
  readonly folderIds: readonly string[]
  readonly record: RecordInput
}

/** The caller checks `assetUrl`. @throws AppError 400 */
export function draftOf(body: CreateRecording): RecordingDraft {
  const startedAt = instantOf('startedAt', body.startedAt)
  const completedAt = instantOf('completedAt', body.completedAt)
  assertOrder(startedAt, completedAt)
  const participants = participantsOf(body.participants ?? [])
  const transcript = body.transcript === undefined ? null : checkTranscript(body.transcript)
  if (transcript !== null) checkSpeakers(transcript, participants)
  refuseSource(body.record)
  return {
    displayName: displayNameOf(body) ?? null,
    source: body.source?.trim() ?? DEFAULT_SOURCE,
    startedAt,
    completedAt,
    summary: body.summary ?? null,
    assetUrl: body.assetUrl ?? null,
    transcript,
    participants,
    folderIds: body.folderIds ?? [],
    record: body.record ?? {},
  }
}

/** Both times are in UTC. @throws AppError 400 if the end is before the start */
export function assertOrder(startedAt: string | null, completedAt: string | null): void {
  if (startedAt !== null && completedAt !== null && isBefore(completedAt, startedAt))
    throw invalid([{ path: 'completedAt', code: 'range', message: 'must not be before startedAt' }])
}

type RecordChange = NonNullable<UpdateRecording['record']>

const hasValues = (record: RecordChange | undefined): record is RecordChange =>
  record !== undefined && (record.values !== undefined || record.removeFieldIds !== undefined)

/** The changes of a request; undefined: unchanged. */
export interface RecordingChange {
  readonly displayName: string | null | undefined
  readonly summary: string | null | undefined
  readonly folderIds: readonly string[] | undefined
  readonly startedAt: string | null | undefined
  readonly completedAt: string | null | undefined
  /** Replaces the current participants. */
  readonly participants: readonly Participant[] | undefined
  readonly externalId: string | null | undefined
  readonly assetUrl: string | undefined
  /** Values to set, and fields (in lower case) to remove. */
  readonly values: { readonly set: readonly ValueInput[]; readonly remove: ReadonlySet<string> } | undefined
}

/** @throws AppError 400 */
export function changeOf(body: UpdateRecording, outbound: OutboundPolicy): RecordingChange {
  refuseSource(body.record)
  return {
    displayName: displayNameOf(body),
    summary: body.summary,
    folderIds: body.folderIds,
    startedAt: body.startedAt === undefined ? undefined : instantOf('startedAt', body.startedAt),
    completedAt: body.completedAt === undefined ? undefined : instantOf('completedAt', body.completedAt),
    participants: body.participants === undefined ? undefined : participantsOf(body.participants),
    externalId: body.record?.externalId,
    assetUrl: body.assetUrl === undefined ? undefined : outbound.assertUrl(body.assetUrl, 'assetUrl').href,
    values: hasValues(body.record) ? valuesOf(body.record) : undefined,
  }
}

/** Two participants of one recording are the same person (specification, "Create", rule 6). */
export function samePerson(
  participant: Participant | ParticipantInput,
  index: number,
  earlier: number,
): ErrorDetail {
  const member = 'personId' in participant ? 'personId' : 'email'
  return {
    path: `participants[${index}].${member}`,
    code: 'same_person',
    message: `is also the person of participants[${earlier}]`,
  }
}

function valuesOf({ values = [], removeFieldIds = [] }: NonNullable<UpdateRecording['record']>) {
  const remove = new Set(removeFieldIds.map((id) => id.toLowerCase()))
  const both = values.findIndex(({ fieldId }) => remove.has(fieldId.toLowerCase()))
  if (both >= 0) {
    const message = 'is also in record.removeFieldIds'
    throw invalid([{ path: `record.values[${both}].fieldId`, code: 'contradiction', message }])
  }
  return { set: values, remove }
}

/**
 * Other unknown members are ignored. This one asks for values of another source, which the request would not set (rule
 * 7).
 */
function refuseSource(record: object | undefined): void {
  if (record === undefined || !('sourceId' in record)) return
  const message = 'is not accepted: the record belongs to the canonical source "recordings"'
  throw invalid([{ path: 'record.sourceId', code: 'unknown_member', message }])
}

/** Value of `displayName` or its alias; undefined if neither is given. */
function displayNameOf({ displayName, name }: Pick<CreateRecording, 'displayName' | 'name'>) {
  const [path, text] = displayName === undefined ? ['name', name] : ['displayName', displayName]
  const found = typeof text === 'string' ? nameOf(path as string, text) : text
  if (displayName !== undefined && name !== undefined && (name?.trim() ?? null) !== found) {
    const message = 'is an alias of displayName, which has a different value'
    throw invalid([{ path: 'name', code: 'contradiction', message }])
  }
  return found
}

function instantOf(path: string, text: string | null | undefined): string | null {
  if (text === undefined || text === null) return null
  const utc = toUtc(text)
  if (utc !== null) return utc
  const message = `must be ${DATE_TIME_EXAMPLE}`
  throw invalid([{ path, code: 'date_time', message }])
}

/** Compares two times in the format of `toUtc`, to the microsecond. */
function isBefore(a: string, b: string): boolean {
  const comparable = (text: string) =>
    text.replace(/^(.{19})(?:\.(\d+))?Z$/, (_, seconds, fraction = '') => seconds + fraction.padEnd(6, '0'))
  return comparable(a) < comparable(b)
}

function participantsOf(inputs: readonly ParticipantInput[]): readonly Participant[] {
  const details: ErrorDetail[] = []
  const speakers = new Map<number, number>()
  const people = new Map<string, number>()
  const participants = inputs.map((input, index) => {
    const path = `participants[${index}]`
    const participant = participantOf(input, path, details)
    const person = 'personId' in participant ? participant.personId : participant.email.toLowerCase()
    const sameSpeaker = speakers.get(input.speaker)
    if (sameSpeaker !== undefined) {
      const message = `is also the speaker of participants[${sameSpeaker}]`
      details.push({ path: `${path}.speaker`, code: 'same_speaker', message })
    }
    speakers.set(input.speaker, sameSpeaker ?? index)
    const earlier = people.get(person)
    if (earlier !== undefined && person !== '') details.push(samePerson(input, index, earlier))
    people.set(person, earlier ?? index)
    return participant
  })
  if (details.length > 0) throw invalid(details.slice(0, MAX_FINDINGS))
  return participants
}

function participantOf(input: ParticipantInput, path: string, details: ErrorDetail[]): Participant {
  const { speaker, personId, email, firstName, lastName } = input
  if (personId !== undefined) {
    for (const member of ['email', 'firstName', 'lastName'] as const) {
      if (input[member] === undefined) continue
      details.push({
        path: `${path}.${member}`,
        code: 'contradiction',
        message: 'must not be given with personId',
      })
    }
    return { speaker, personId: personId.toLowerCase() }
  }
  if (email === undefined)
    details.push({ path, code: 'required', message: 'must have a personId or an email' })
  const [first, last] = [firstName?.trim(), lastName?.trim()]
  return {
    speaker,
    email: email === undefined ? '' : (contactAddress(email) ?? email.trim()),
    // A blank name is ignored, so that it does not overwrite a known one.
    ...(first ? { firstName: first } : {}),
    ...(last ? { lastName: last } : {}),
  }
}

/**
 * What a waiting transcript waits for. The transaction that publishes media also queues its transcription if there is a
 * transcriber. A `waiting` transcript beside complete media therefore waits for an operator.
 */
export function awaitedOf(
  transcript: TranscriptStatus,
  asset: AssetStatus | null,
): { readonly waitingFor?: Awaited } {
  if (transcript !== 'waiting') return {}
  return { waitingFor: asset === 'completed' ? 'transcriber' : 'media' }
}

/** Why a transcript has failed, as far as it is known. A transcript that is asked for again keeps the reason until it is there. */
export const failureOf = (
  transcript: TranscriptStatus,
  code: TranscriptError | null,
): TranscriptError | undefined => (transcript === 'failed' ? (code ?? undefined) : undefined)

/** Whether what was said in a recording was read, and why not. */
export const analysisOfRecording = ({
  subject,
  transcriptStatus,
  assetStatus,
}: {
  readonly subject: ReadSubject | null
  readonly transcriptStatus: TranscriptStatus
  readonly assetStatus: AssetStatus | null
}): Analysis => analysisOf(subject, unreadRecording(transcriptStatus, assetStatus))

/**
 * The order of a list, newest first: by start time if its filter bounds it; by start, or creation without a known start, if it
 * bounds that; otherwise by creation time.
 */
export function orderOfList(filter: {
  readonly startedAfter?: string | undefined
  readonly startedBefore?: string | undefined
  readonly began?: { readonly since?: string | undefined; readonly until?: string | undefined }
}): 'createdMoment' | 'startedMoment' | 'beganMoment' {
  const { startedAfter, startedBefore, began } = filter
  if (startedAfter !== undefined || startedBefore !== undefined) return 'startedMoment'
  return began?.since !== undefined || began?.until !== undefined ? 'beganMoment' : 'createdMoment'
}
