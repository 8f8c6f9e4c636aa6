/** Use cases of people: the customers that recordings and feedback are about. */
import type { Tx } from '../platform/db/pool.ts'
import { isUuid, type NewId } from '../platform/ids.ts'
import * as store from './store.ts'

export type { PersonInput } from './store.ts'
export type People = ReturnType<typeof createPeople>

export interface PersonKey {
  /** Internal. No response contains it. */
  readonly id: number
  readonly publicId: string
}

export function createPeople({ newId }: { readonly newId: NewId }) {
  return {
    /**
     * Finds or inserts the people with these addresses (case-insensitively). An absent name keeps its value.
     * @returns the people by address in lower case
     */
    async upsertByEmail(
      tx: Tx,
      organizationId: string,
      people: readonly store.PersonInput[],
    ): Promise<ReadonlyMap<string, PersonKey>> {
      if (people.length === 0) return new Map()
      const given = people.map(({ email, firstName, lastName }, ordinal) => ({
        ordinal,
        publicId: newId(),
        email,
        firstName,
        lastName,
      }))
      const rows = await store.upsertPeople(tx, organizationId, given)
      return new Map(
        rows.map(({ ordinal, id, publicId }) => [
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
      const known = await store.lockPeopleByEmail(tx, organizationId, emails)
      const ids = new Map(known.map(({ ordinal, id }) => [emails[ordinal] as string, id]))
      const unknown = emails.filter((email) => !ids.has(email))
      if (unknown.length === 0) return ids
      const given = unknown.map((email, ordinal) => ({ ordinal, publicId: newId(), email }))
      for (const { ordinal, id } of await store.upsertPeople(tx, organizationId, given))
        ids.set(unknown[ordinal] as string, id)
      return ids
    },

    /** The known people by public id in lower case. Their rows stay until the transaction ends. */
    async findByPublicIds(
      tx: Tx,
      organizationId: string,
      publicIds: readonly string[],
    ): Promise<ReadonlyMap<string, PersonKey>> {
      const wellFormed = publicIds.filter(isUuid)
      if (wellFormed.length === 0) return new Map()
      const rows = await store.lockPeople(tx, organizationId, wellFormed)
      return new Map(rows.map((row) => [row.publicId, row]))
    },
  }
}
