/** Use cases of people: the customers that conversations, recordings and feedback are about. */
import type { Query, Tx } from '../platform/db/pool.ts'
import { isUuid, type NewId } from '../platform/ids.ts'
import * as aliases from './alias.store.ts'
import * as identification from './identify.store.ts'
import * as store from './store.ts'

export type { Claim } from './identify.store.ts'
export type { PersonInput } from './store.ts'
export type People = ReturnType<typeof createPeople>

export interface PersonKey {
  /** Internal. No response contains it. */
  readonly id: number
  readonly publicId: string
}

/** Who a participant is: the internal id of the person; null: nobody; `later`: the people are being merged or erased. */
export type Identity = number | null | 'later'

export function createPeople({ newId }: { readonly newId: NewId }) {
  return {
    /**
     * Finds or inserts the people with these addresses (case-insensitively). An absent name keeps its value. The address of a person who
     * was merged means the one who was kept, and its names only fill gaps.
     * @returns the people by address in lower case
     */
    async upsertByEmail(
      tx: Tx,
      organizationId: string,
      people: readonly store.PersonInput[],
    ): Promise<ReadonlyMap<string, PersonKey>> {
      if (people.length === 0) return new Map()
      await aliases.shareLock(tx, organizationId)
      const emails = people.map(({ email }) => email)
      const former = await aliases.findByFormerEmails(tx, organizationId, emails)
      await aliases.fillNames(
        tx,
        organizationId,
        former.map(({ ordinal, id }) => ({ ...(people[ordinal] as store.PersonInput), id })),
      )
      const merged = new Set(former.map(({ ordinal }) => ordinal))
      const given = people.flatMap(({ email, firstName, lastName }, ordinal) =>
        merged.has(ordinal) ? [] : [{ ordinal, publicId: newId(), email, firstName, lastName }],
      )
      const rows = given.length === 0 ? [] : await store.upsertPeople(tx, organizationId, given)
      return new Map(
        [...former, ...rows].map(({ ordinal, id, publicId }) => [
          (people[ordinal] as store.PersonInput).email.toLowerCase(),
          { id, publicId },
        ]),
      )
    },

    /**
     * The internal ids of the people with these addresses. Inserts unknown people and does not write to known ones.
     * @returns the ids by address, spelt as given
     */
    async idsByEmail(
      tx: Tx,
      organizationId: string,
      emails: readonly string[],
    ): Promise<ReadonlyMap<string, number>> {
      if (emails.length === 0) return new Map()
      await aliases.shareLock(tx, organizationId)
      const former = await aliases.findByFormerEmails(tx, organizationId, emails)
      const known = await store.lockPeopleByEmail(tx, organizationId, emails)
      const ids = new Map([...former, ...known].map(({ ordinal, id }) => [emails[ordinal] as string, id]))
      const unknown = emails.filter((email) => !ids.has(email))
      if (unknown.length === 0) return ids
      const given = unknown.map((email, ordinal) => ({ ordinal, publicId: newId(), email }))
      for (const { ordinal, id } of await store.upsertPeople(tx, organizationId, given))
        ids.set(unknown[ordinal] as string, id)
      return ids
    },

    /**
     * The known people by public id in lower case. Their rows stay until the transaction ends. The id of a person who was merged gives
     * the one who was kept.
     */
    async findByPublicIds(
      tx: Tx,
      organizationId: string,
      publicIds: readonly string[],
    ): Promise<ReadonlyMap<string, PersonKey>> {
      const wellFormed = publicIds.filter(isUuid)
      if (wellFormed.length === 0) return new Map()
      await aliases.shareLock(tx, organizationId)
      const rows = await store.lockPeople(tx, organizationId, wellFormed)
      const found = new Map<string, PersonKey>(rows.map((row) => [row.publicId, row]))
      if (wellFormed.every((id) => found.has(id.toLowerCase()))) return found
      for (const { formerPublicId, ...key } of await aliases.findByFormerIds(tx, organizationId, wellFormed))
        found.set(formerPublicId, key)
      return found
    },

    /**
     * The people behind participants of any organizations. An unknown address becomes a person. The transaction must hold no lock on
     * people. Where people of an organization are being merged or erased, it does not wait. @returns one identity for each claim
     */
    identify: (tx: Query, claims: readonly identification.Claim[]) => identify(tx, newId, claims),

    /** As `identify`, but waits for merges and erasures. For work in the background, of one organization at a time. */
    async identifyPatiently(tx: Tx, claims: readonly identification.Claim[]): Promise<readonly Identity[]> {
      for (const id of organizationsOf(claims)) await aliases.shareLock(tx, id)
      return identify(tx, newId, claims)
    },
  }
}

const organizationsOf = (claims: readonly identification.Claim[]) =>
  [...new Set(claims.map(({ organizationId }) => organizationId))].toSorted()

async function identify(
  tx: Query,
  newId: NewId,
  claims: readonly identification.Claim[],
): Promise<readonly Identity[]> {
  if (claims.length === 0) return []
  const free = await aliases.tryShareLocks(tx, organizationsOf(claims))
  const due = claims.filter(({ organizationId }) => free.has(organizationId))
  const ids = due.length === 0 ? [] : await identifyLocked(tx, newId, due)
  const byClaim = new Map(due.map((claim, index) => [claim, ids[index] ?? null]))
  return claims.map((claim) => (byClaim.has(claim) ? (byClaim.get(claim) ?? null) : 'later'))
}

async function identifyLocked(
  tx: Query,
  newId: NewId,
  claims: readonly identification.Claim[],
): Promise<readonly (number | null)[]> {
  const known = await identification.identify(tx, claims)
  const erased = new Set(known.filter(({ isErased }) => isErased).map(({ ordinal }) => ordinal))
  const found = new Map(
    known.flatMap(({ ordinal, personId }) => (personId === null ? [] : [[ordinal, personId]])),
  )
  await giveNames(tx, claims, known)
  const isNew = (ordinal: number) => !found.has(ordinal) && !erased.has(ordinal)
  const unknown = claims.flatMap((claim, ordinal) =>
    isNew(ordinal) && claim.email !== null ? [{ ...claim, ordinal, newId: newId() }] : [],
  )
  if (unknown.length > 0) {
    await identification.insertUnknown(tx, unknown)
    for (const { ordinal, personId } of await identification.identify(tx, unknown))
      if (personId !== null) found.set((unknown[ordinal] as { ordinal: number }).ordinal, personId)
  }
  return claims.map((_, ordinal) => (erased.has(ordinal) ? null : (found.get(ordinal) ?? null)))
}

async function giveNames(
  tx: Query,
  claims: readonly identification.Claim[],
  known: readonly identification.Identified[],
): Promise<void> {
  const named = known.flatMap(({ ordinal, personId, isNameless, isErased }) => {
    const { organizationId, name } = claims[ordinal] as identification.Claim
    return personId === null || !isNameless || isErased || name === null
      ? []
      : [{ organizationId, id: personId, name }]
  })
  if (named.length > 0) await identification.nameThem(tx, named)
}
