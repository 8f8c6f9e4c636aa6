/**
 * Use cases of people as a directory: put, read, list, erase.
 *
 * An erasure removes everything that names the person. One transaction deletes the person's row and all references to it.
 * It also starts an actor (erasure-actor.ts), which erases the person's name from conversations and recordings.
 */

import { transactionWithOutbox } from '../actors/mailbox.ts'
import type { Deps } from '../container.ts'
import { erasureMessages } from '../messages/erasure.ts'
import type { Alongside } from '../platform/db/alongside.ts'
import { withinReach } from '../platform/db/bounded-scan.ts'
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import { lockAlone } from './alias.store.ts'
import * as store from './directory.store.ts'
import { termsOf } from './erasure.rules.ts'
import { type Erasure, findErasure, insertErasure } from './erasure.store.ts'
import type { ErasureKind } from './erasure.ts'
import type { PutPerson } from './model.ts'
import { type CompanyInput, decideCompany, personDraft } from './rules.ts'

export type { PersonFilter, PersonRow } from './directory.store.ts'
export type { Erasure } from './erasure.store.ts'
export type Directory = ReturnType<typeof createDirectory>

/** Erases the references of one feature to a person. @returns how many there were */
export type Eraser = (tx: Tx, organizationId: string, personId: number) => Promise<number>

export type DirectoryDeps = Pick<Deps, 'sql' | 'reads' | 'newId' | 'log' | 'notifier'> & {
  /** Keyed by the name under which the receipt counts the erased references. */
  readonly erasers: Readonly<Partial<Record<ErasureKind, Eraser>>>
  /** Recordings that the person took part in. */
  readonly recordingsOf: (tx: Tx, organizationId: string, personId: number) => Promise<readonly string[]>
}

export function createDirectory(deps: DirectoryDeps) {
  const { sql, reads, newId, log, notifier, erasers, recordingsOf } = deps
  return {
    /** Finds by address (case-insensitively) or inserts. An absent member keeps its value, null clears it. @throws AppError 400 */
    async put(organizationId: string, body: PutPerson): Promise<store.PersonRow> {
      const { company, ...person } = personDraft(body)
      const write = { ...person, publicId: newId() }
      if (company == null) return store.putPerson(sql, organizationId, { ...write, companyId: company })
      return transaction(sql, async (tx) => {
        const companyId = await resolveCompany(tx, organizationId, company)
        return store.putPerson(tx, organizationId, { ...write, companyId })
      })
    },

    /** @throws AppError 404 `person_not_found` */
    async get(organizationId: string, id: number): Promise<store.PersonRow> {
      return (await store.findPerson(reads, organizationId, id)) ?? noPerson()
    },

    /** Newest first, with one row more than the limit. */
    list: (organizationId: string, filter: store.PersonFilter, position: store.PersonPosition) =>
      withinReach(position, (place) => store.listPeople(reads, organizationId, filter, place)),

    /**
     * Deletes the person's row, feedback records and participations in one transaction. The actor then erases the person's
     * name elsewhere, in the background.
     * @throws AppError 404 `person_not_found`
     */
    async erase(organizationId: string, id: number, also?: Alongside<Erasure>): Promise<Erasure> {
      const erasure = await transactionWithOutbox({ sql, notifier }, async (tx, outbox) => {
        await lockAlone(tx, organizationId)
        const person = await store.lockPerson(tx, organizationId, id)
        if (person === null) return noPerson()
        const recordingIds = await recordingsOf(tx, organizationId, id)
        const counts: Partial<Record<ErasureKind, number>> = {}
        for (const [name, erase] of Object.entries(erasers))
          counts[name as ErasureKind] = await erase(tx, organizationId, id)
        await store.deletePerson(tx, organizationId, id)
        const terms = { ...termsOf(person), recordingIds }
        const { publicId } = person
        const row = { id: newId(), organizationId, personId: id, publicId, terms, counts }
        const inserted = await insertErasure(tx, row)
        await outbox.send([erasureMessages.message(row.id, 'erase')])
        await also?.(tx, inserted)
        return inserted
      })
      log.info({ organizationId, personId: id, erased: erasure.counts }, 'person erased')
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
