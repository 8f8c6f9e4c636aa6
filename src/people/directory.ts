/**
 * Use cases of people as a directory: put, read, list, erase.
 *
 * The rule: an erased person leaves nothing behind that names them. What other features keep of a person is erased in
 * the same transaction, by themselves, and what was erased is said once in the log.
 */
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import * as store from './directory.store.ts'
import type { PutPerson } from './model.ts'
import { type CompanyInput, decideCompany, personDraft } from './rules.ts'

export type { PersonFilter, PersonRow } from './directory.store.ts'
export type Directory = ReturnType<typeof createDirectory>

/** Erases what one feature keeps of a person. @returns how many things there were */
export type Eraser = (tx: Tx, organizationId: string, personId: number) => Promise<number>

export type DirectoryDeps = Pick<Deps, 'sql' | 'reads' | 'newId' | 'log'> & {
  /** By the name under which the receipt counts what they erased. */
  readonly erasers: Readonly<Record<string, Eraser>>
}

export function createDirectory({ sql, reads, newId, log, erasers }: DirectoryDeps) {
  return {
    /** Finds by address (case-insensitively) or makes; absent members never overwrite. @throws AppError 400 */
    async put(organizationId: string, body: PutPerson): Promise<store.PersonRow> {
      const { company, ...person } = personDraft(body)
      const write = { ...person, publicId: newId() }
      if (company === null) return store.putPerson(sql, organizationId, { ...write, companyId: null })
      return transaction(sql, async (tx) => {
        const companyId = await resolveCompany(tx, organizationId, company)
        return store.putPerson(tx, organizationId, { ...write, companyId })
      })
    },

    /** @throws AppError 404 `person_not_found` */
    async get(organizationId: string, id: number): Promise<store.PersonRow> {
      return (await store.findPerson(reads, organizationId, id)) ?? noPerson()
    },

    /** Newest first, one row more than the limit. */
    list: (organizationId: string, filter: store.PersonFilter, position: store.PersonPosition) =>
      store.listPeople(reads, organizationId, filter, position),

    /** The person and all that is kept of them: all or nothing. @throws AppError 404 `person_not_found` */
    async erase(organizationId: string, id: number): Promise<void> {
      const erased = await transaction(sql, async (tx) => {
        if (!(await store.lockPerson(tx, organizationId, id))) noPerson()
        const counts: Record<string, number> = {}
        for (const [name, erase] of Object.entries(erasers))
          counts[name] = await erase(tx, organizationId, id)
        await store.deletePerson(tx, organizationId, id)
        return counts
      })
      log.info({ organizationId, personId: id, erased }, 'person erased')
    },
  }
}

/** Looks first: most people are of a company that is known. */
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
