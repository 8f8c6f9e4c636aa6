/**
 * Use cases of people as a directory: put, read, list, erase.
 *
 * An erasure removes everything that names the person. One transaction deletes the person's row and all references to it.
 * It also starts an actor (erasure-actor.ts), which erases the person's name from conversations and recordings.
 */

import { transactionWithOutbox } from '../actors/mailbox.ts'
import type { Deps } from '../kernel/deps.ts'
import { erasureMessages } from '../kernel/messages/erasure.ts'
import type { Alongside } from '../platform/db/alongside.ts'
import { withinReach } from '../platform/db/bounded-scan.ts'
import { databaseTime } from '../platform/db/database-time.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import { contactAddress } from '../platform/validation/user-address.ts'
import { findByFormerEmails, lockAlone } from './alias.store.ts'
import * as store from './directory.store.ts'
import { termsOf } from './erasure.rules.ts'
import { type Erasure, findErasure, insertErasure } from './erasure.store.ts'
import type { ErasureKind } from './erasure.ts'
import { listAliases, listMoving } from './merge.store.ts'
import { type Merge, type Mover, mergePeople } from './merge.ts'
import type { PutPerson } from './model.ts'
import { type CompanyInput, decideCompany, personDraft } from './rules.ts'
import { erasedAmong } from './running-erasures.ts'
import { personWords } from './search.rules.ts'
import { setSearchWords } from './search.store.ts'

export type { PersonRef, PersonRow } from './directory.store.ts'
export type { Erasure } from './erasure.store.ts'
export type Directory = ReturnType<typeof createDirectory>

/** Erases the references of one feature to a person. @returns how many there were */
type Eraser = (tx: Tx, organizationId: string, personId: number) => Promise<number>

export type DirectoryDeps = Pick<Deps, 'sql' | 'reads' | 'newId' | 'log' | 'notifier'> & {
  /** Keyed by the name under which the receipt counts the erased references. */
  readonly erasers: Readonly<Partial<Record<ErasureKind, Eraser>>>
  /** What refers to a person, and moves when the person is merged into another one. */
  readonly movers: readonly Mover[]
  /** Recordings that the person took part in. */
  readonly recordingsOf: (tx: Tx, organizationId: string, personId: number) => Promise<readonly string[]>
}

export function createDirectory(deps: DirectoryDeps) {
  const { sql, reads, newId, log, notifier } = deps
  return {
    /**
     * Finds by address (case-insensitively) or inserts. An absent member keeps its value, null clears it.
     * @throws AppError 400; 404 `person_not_found` if the person is erased since the transaction began
     */
    async put(organizationId: string, body: PutPerson): Promise<store.PersonRow> {
      const { company, ...person } = personDraft(body)
      return transaction(sql, async (tx) => {
        const companyId = company == null ? company : await resolveCompany(tx, organizationId, company)
        const write = { ...person, publicId: newId(), companyId }
        const erased = await erasedAmong(tx, organizationId, [write.email], new Date(await databaseTime(tx)))
        if (erased.size > 0) return noPerson()
        const [kept] = await findByFormerEmails(tx, organizationId, [write.email])
        const row =
          kept === undefined
            ? await store.putPerson(tx, organizationId, write)
            : await store.updatePerson(tx, organizationId, kept.id, write)
        await setSearchWords(tx, [{ organizationId, id: row.id, words: personWords(row) }])
        return row
      })
    },

    /** The id of a person who was merged gives the one who was kept. @throws AppError 404 `person_not_found` */
    async get(organizationId: string, ref: store.PersonRef): Promise<store.PersonRow> {
      return (await store.findPerson(reads, organizationId, ref)) ?? noPerson()
    },

    /** The address of a person who was merged gives the one who was kept. @throws AppError 404 `person_not_found` */
    async getByEmail(organizationId: string, email: string): Promise<store.PersonRow> {
      return (
        (await store.findPersonByEmail(reads, organizationId, contactAddress(email) ?? email)) ?? noPerson()
      )
    },

    /** The internal ids under which something may refer to the person: its own, and those of merged people that are still moved. */
    async idsOf(organizationId: string, id: number): Promise<readonly number[]> {
      return [id, ...(await listMoving(reads, organizationId, id))]
    },

    /** @throws AppError 404 `person_not_found`; 400 if both are the same id */
    merge: (organizationId: string, kept: store.PersonRef, other: string, also?: Alongside<Merge>) =>
      mergePeople(deps, organizationId, kept, other, also),

    /** Newest first, with one row more than the limit. */
    list: (organizationId: string, filter: store.PersonFilter, position: store.PersonPosition) =>
      withinReach(position, (place) => listed(reads, organizationId, filter, place)),

    /**
     * Deletes the person's row, feedback records and participations in one transaction. The actor then erases the person's
     * name elsewhere, in the background.
     * @throws AppError 404 `person_not_found`
     */
    async erase(organizationId: string, ref: store.PersonRef, also?: Alongside<Erasure>): Promise<Erasure> {
      const erasure = await transactionWithOutbox({ sql, notifier }, async (tx, outbox) => {
        await lockAlone(tx, organizationId)
        const person = await store.lockPerson(tx, organizationId, ref)
        if (person === null) return noPerson()
        const { id, publicId } = person
        const merged = await listAliases(tx, organizationId, id)
        const ids = [id, ...(await listMoving(tx, organizationId, id))]
        const { recordingIds, counts } = await eraseReferences(deps, tx, organizationId, ids)
        // Takes the aliases, and the rows of merged people, along.
        await store.deletePerson(tx, organizationId, id)
        const formerPublicIds = merged.map((one) => one.publicId)
        const terms = { ...termsOf(person, merged), formerPublicIds, recordingIds }
        const row = { id: newId(), organizationId, personId: id, publicId, terms, counts }
        const inserted = await insertErasure(tx, row)
        await outbox.send([erasureMessages.message(row.id, 'erase', { organizationId })])
        await also?.(tx, inserted)
        return inserted
      })
      log.info({ organizationId, personId: erasure.personId, erased: erasure.counts }, 'person erased')
      return erasure
    },

    /** The progress of an erasure. @throws AppError 404 `person_erasure_not_found` */
    async getErasure(organizationId: string, id: string): Promise<Erasure> {
      const erasure = await findErasure(sql, organizationId, id)
      if (erasure === null) throw new AppError('person_erasure_not_found', 'There is no such erasure.')
      return erasure
    },
  }
}

/** Erases everything that refers to these ids of one person. */
async function eraseReferences(
  { erasers, recordingsOf }: DirectoryDeps,
  tx: Tx,
  organizationId: string,
  ids: readonly number[],
) {
  const recordingIds = new Set<string>()
  const counts: Partial<Record<ErasureKind, number>> = {}
  for (const id of ids) {
    for (const recordingId of await recordingsOf(tx, organizationId, id)) recordingIds.add(recordingId)
    for (const [name, erase] of Object.entries(erasers) as [ErasureKind, Eraser][])
      counts[name] = (counts[name] ?? 0) + (await erase(tx, organizationId, id))
  }
  return { recordingIds: [...recordingIds], counts }
}

/** Looks before it locks, because most people belong to a known company. */
async function resolveCompany(tx: Tx, organizationId: string, named: CompanyInput): Promise<number> {
  const decide = async () => decideCompany(await store.findCompanies(tx, organizationId, named), named)
  let decision = await decide()
  if (decision.kind !== 'known') {
    await store.lockCompanies(tx, organizationId)
    decision = await decide()
  }
  if (decision.kind === 'known') return decision.id
  if (decision.kind === 'create') return store.insertCompany(tx, organizationId, decision.company)
  await store.updateCompany(tx, organizationId, decision.company)
  return decision.company.id
}

function noPerson(): never {
  throw new AppError('person_not_found', 'There is no such person.')
}

async function listed(
  query: Query,
  organizationId: string,
  filter: store.PersonFilter,
  position: store.PersonPosition,
) {
  const { search, email, uuids } = filter
  if (search != null && email === undefined && uuids === undefined) {
    const newest = await store.searchNewest(query, organizationId, { ...filter, search }, position)
    if (newest.length > position.limit) return newest
  }
  return store.listPeople(query, organizationId, filter, position)
}
