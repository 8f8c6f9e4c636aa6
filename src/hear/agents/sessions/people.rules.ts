/** Which participants of a session are people. Pure. */
import type { Claim } from '../../../people/service.ts'
import { contactAddress } from '../../../platform/validation/user-address.ts'
import { REDACTED } from '../events/redaction.ts'
import type { Participant } from '../model.ts'

/** A participant with an e-mail address or the id of a person. */
export interface ParticipantClaim extends Omit<Claim, 'organizationId' | 'since'> {
  /** Empty where the participant has none. */
  readonly externalId: string
  /** The only participant who is no member of the organization: messages that name no participant are theirs. */
  readonly sole: boolean
}

/** A redacted address identifies nobody. A participant without an id and an address is no person. */
export function claimsOf(participants: readonly Participant[]): readonly ParticipantClaim[] {
  const customers = participants.filter(({ boundary }) => boundary !== 'internal')
  return participants.flatMap((participant) => {
    const { externalId = '', personId, displayName, boundary = 'external' } = participant
    const email = emailOf(participant)
    if (personId === undefined && email === null) return []
    const name = displayName?.trim() ?? ''
    return [
      {
        externalId,
        publicId: personId?.toLowerCase() ?? null,
        email,
        name: name === '' || name.includes(REDACTED) ? null : name,
        boundary,
        sole: customers.length === 1 && customers[0] === participant,
      },
    ]
  })
}

function emailOf({ email }: Participant): string | null {
  return email === undefined || email.includes(REDACTED) ? null : contactAddress(email)
}
