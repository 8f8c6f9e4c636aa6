/** Finds and erases a person in the parts of a session. Pure. */
import type { ErasedPerson, Eraser } from '../../../people/erasure.ts'
import { contactAddress } from '../../../platform/validation/user-address.ts'
import type { EventBody } from '../events/sanitize.ts'
import type { Participant } from '../model.ts'

/** New external ids of the person's participants, by their present external id. */
export type Aliases = Readonly<Record<string, string>>

/** True where the participant is the person: by `personId`, or by the e-mail address in `email`, `username` or `externalId`. */
export function isPerson(participant: Participant, { publicIds, emails }: PersonIds): boolean {
  const { personId, email, username, externalId } = participant
  if (personId !== undefined && publicIds.includes(personId.toLowerCase())) return true
  return [email, username, externalId].some((text) => text !== undefined && isAddressOf(text, emails))
}

/** Also another form of the address, as older versions stored what was sent. */
export const isAddressOf = (text: string, emails: readonly string[]): boolean =>
  emails.includes(text.trim().toLowerCase()) ||
  (text.includes('@') && emails.includes(contactAddress(text)?.toLowerCase() ?? ''))

/** All ids and addresses of a person, in lower case: also those of people who were merged into this one. */
export interface PersonIds {
  readonly publicIds: readonly string[]
  readonly emails: readonly string[]
}

export function idsOf({
  publicId,
  email,
  formerPublicIds = [],
  formerEmails = [],
}: Pick<ErasedPerson, 'publicId' | 'email' | 'formerPublicIds' | 'formerEmails'>): PersonIds {
  return {
    publicIds: [publicId, ...formerPublicIds],
    emails: [...(email === null ? [] : [email.trim().toLowerCase()]), ...formerEmails],
  }
}

/** The participant without names and address. The alias still groups the participant's messages. */
export function eraseParticipant(
  { externalId, boundary, companyExternalId }: Participant,
  aliases: Aliases,
): Participant {
  const alias = externalId === undefined ? undefined : aliases[externalId]
  return {
    ...(alias === undefined ? {} : { externalId: alias }),
    ...(boundary === undefined ? {} : { boundary }),
    ...(companyExternalId === undefined ? {} : { companyExternalId }),
  }
}

/**
 * Erases the person from content, context, feedback and participant id. Other ids, models, counts and traces stay. Returns `body`
 * itself where nothing changes.
 */
export function eraseBody(body: EventBody, eraser: Eraser, aliases: Aliases): EventBody {
  const { content, context, feedback, participantExternalId } = body
  const next = {
    content: eraser.value(content),
    context: eraser.value(context),
    feedback: feedback && eraseFeedback(feedback, eraser),
    participantExternalId:
      participantExternalId === undefined ? undefined : aliasOf(participantExternalId, aliases),
  }
  const names = Object.keys(next) as (keyof typeof next)[]
  if (names.every((name) => next[name] === body[name])) return body
  return {
    ...body,
    ...Object.fromEntries(names.filter((name) => name in body).map((name) => [name, next[name]])),
  }
}

type Feedback = NonNullable<EventBody['feedback']>

function eraseFeedback(feedback: Feedback, eraser: Eraser): Feedback {
  const { comment, labels } = feedback
  const next = { comment: eraser.value(comment), labels: eraser.value(labels) }
  if (next.comment === comment && next.labels === labels) return feedback
  return {
    ...feedback,
    ...(next.comment === undefined ? {} : { comment: next.comment }),
    ...(next.labels === undefined ? {} : { labels: next.labels }),
  }
}

export function aliasOf(externalId: string, aliases: Aliases): string {
  return Object.hasOwn(aliases, externalId) ? (aliases[externalId] as string) : externalId
}
