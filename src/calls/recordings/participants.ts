/** The people who take part in recordings. */
import type { People, PersonInput } from '../../people/service.ts'
import type { DataChange } from '../../platform/db/data-change.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { AppError, type ErrorDetail } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import * as meetings from './meeting.store.ts'
import * as ofPeople from './participants.store.ts'
import { type Participant, samePerson } from './rules.ts'
import type * as store from './store.ts'

/** Ids of the recordings in which the person took part. `personId`: the internal id. */
export function recordingsOfPerson(
  tx: Tx,
  organizationId: string,
  personId: number,
): Promise<readonly string[]> {
  return ofPeople.recordingsOfPerson(tx, organizationId, personId)
}

/** Gives older participants the time of their recording, by which the timeline of a person is ordered. */
export const participantTimeChange: DataChange = {
  name: 'recording_participant_time',
  table: 'recording',
  key: 'id',
  rowsPerStep: 500,
  change: (tx, keys) => ofPeople.fillParticipantTimes(tx, keys),
}

/** Longest name of a speaker, in code points. */
const MAX_NAME = 255

/**
 * Makes the speakers of a meeting participants, by the names that the meeting shows. Who they are is not known.
 * @param names by speaker number; null or blank: not recognised
 */
export function nameSpeakers(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  names: readonly (string | null)[],
): Promise<void> {
  const named = names.flatMap((name, speaker) => {
    const clean = (name ?? '')
      .toWellFormed()
      .replaceAll(/\p{Cc}+/gu, ' ')
      .trim()
    return clean === '' ? [] : [{ speaker, name: [...clean].slice(0, MAX_NAME).join('') }]
  })
  return meetings.insertNamedParticipants(tx, organizationId, recordingId, named)
}

/** Sets start and end of a recording of a meeting where the caller has not. */
export function fillTimes(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  times: { readonly startedAt: Date | null; readonly completedAt: Date | null },
): Promise<void> {
  return meetings.fillTimes(tx, organizationId, recordingId, times)
}

/** Gives the participations of a merged person to the one who is kept. */
export const moveParticipationsOf: typeof ofPeople.moveParticipations = (...given) =>
  ofPeople.moveParticipations(...given)

/** Removes the person from the participants of every recording. @returns the number of participations */
export function eraseParticipations(tx: Tx, organizationId: string, personId: number): Promise<number> {
  return ofPeople.deleteParticipationsOf(tx, organizationId, personId)
}

/**
 * Resolves the people that a request names to stored people, in the transaction of the recording: finds the person of
 * each speaker, and creates one for a new address.
 * @throws AppError 404 `person_not_found`; 400 if an id and an address belong to the same person
 */
export async function resolveParticipants(
  people: People,
  tx: Tx,
  organizationId: string,
  participants: readonly Participant[],
): Promise<readonly store.ParticipantRow[]> {
  const personIds = participants.flatMap((one) => ('personId' in one ? [one.personId] : []))
  const known = await people.findByPublicIds(tx, organizationId, personIds)
  assertKnown(participants, known)
  const given: PersonInput[] = participants.flatMap((one) => ('email' in one ? [one] : []))
  const byEmail = await people.upsertByEmail(tx, organizationId, given)
  const rows = participants.map((one) => {
    const person = 'personId' in one ? known.get(one.personId) : byEmail.get(one.email.toLowerCase())
    if (person === undefined) throw new Error('a person was neither found nor created')
    return { speaker: one.speaker, personId: person.id }
  })
  assertDistinct(participants, rows)
  return rows
}

function assertKnown(participants: readonly Participant[], known: ReadonlyMap<string, unknown>): void {
  const details: ErrorDetail[] = participants.flatMap((one, index) =>
    'email' in one || known.has(one.personId)
      ? []
      : [{ path: `participants[${index}].personId`, code: 'not_found', message: 'is not a known person' }],
  )
  const [first] = details
  if (first === undefined) return
  throw new AppError('person_not_found', `${first.path}: ${first.message}`, { details })
}

function assertDistinct(participants: readonly Participant[], rows: readonly store.ParticipantRow[]): void {
  const seen = new Map<number, number>()
  for (const [index, { personId }] of rows.entries()) {
    const earlier = seen.get(personId)
    if (earlier !== undefined) throw invalid([samePerson(participants[index] as Participant, index, earlier)])
    seen.set(personId, index)
  }
}
