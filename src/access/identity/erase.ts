/**
 * Erases an organization with every row that names it. The catalogue of the database says which tables have such rows, so a table of
 * a new feature is never forgotten.
 *
 * It goes in steps of bounded size. Each commits its progress with what it deleted, so that work that is killed goes on where it was,
 * and no lock lasts longer than a step. Rows are deleted in passes, because deleting a row may have a trigger note a change for
 * the organization, and because a request that was admitted before may still store something. The organization's own row goes last,
 * under a lock that awaits such requests, and only if nothing of it is left.
 */
import type { Query, Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import * as store from './erase.store.ts'

/** A step ends after so many rows that an index of organizations finds, */
const ROWS = 1_000
/** or so many pages of tables without such an index: 1 MB. */
const PAGES = 128
/** Users of one step. */
const USERS = 20

/** Kept while an actor still ends something elsewhere. */
const ACTORS: readonly string[] = ['actor_dead_letter', 'actor_mailbox', 'actor_message']

/** What one step leads to. `waits`: what other features have to delete first is not gone yet. */
export type StepEnd = 'more' | 'waits' | 'finished'

/**
 * Ends an organization: its erasure begins, and every credential of it is refused.
 * @param name has to be that of the organization
 * @returns ids of credentials and users, for the caches of this process
 * @throws AppError 400 `organization_name_mismatch`; 404 if there is none, or it is being erased
 */
export async function endOrganization(
  tx: Tx,
  organizationId: string,
  name: string,
): Promise<readonly string[]> {
  const known = await store.lockLiving(tx, organizationId)
  if (known === null) throw new AppError('not_found', 'There is no organization.')
  if (known !== name)
    throw new AppError(
      'organization_name_mismatch',
      'name: is not the name of the organization. Nothing was deleted.',
    )
  return store.refuseOrganization(tx, organizationId)
}

/** The organizations that are being erased, oldest request first. */
export function erasedOrganizations(query: Query): Promise<readonly string[]> {
  return store.erasedOrganizations(query)
}

/** Users whom an organization that is being erased alone knows. */
export function usersOfNoOther(query: Query, organizationId: string): Promise<readonly string[]> {
  return store.usersOfNoOther(query, organizationId)
}

/**
 * Refuses what a request made meanwhile, at the beginning of a pass. The caller's transaction does nothing else, because this locks the
 * organization before its members and credentials.
 */
export async function refuseMeanwhile(tx: Tx, organizationId: string): Promise<void> {
  const erased = await store.progressOf(tx, organizationId)
  if (erased !== null && erased.progress?.table == null) await store.refuseOrganization(tx, organizationId)
}

/**
 * Takes an organization that is being erased for a step, which locks objects of it. No statement that changes the organization waits for that.
 * @returns null if it is gone, or another process has it in hand
 */
export function claimErased(
  tx: Tx,
  organizationId: string,
): Promise<{ readonly progress: store.ErasureProgress | null } | null> {
  return store.claimErased(tx, organizationId)
}

const BEGINNING: store.ErasureProgress = { pass: 1, table: null, page: 0, changed: false, rows: 0 }

/**
 * Deletes some rows of an organization that is being erased.
 * @param progress as `claimErased` returned it
 * @param keepsActors whether its actors are needed yet
 */
export async function eraseRows(
  tx: Tx,
  organizationId: string,
  progress: store.ErasureProgress | null,
  keepsActors: boolean,
): Promise<StepEnd> {
  const at = progress ?? BEGINNING
  const all = await tablesInOrder(tx)
  const tables = keepsActors ? all.filter(({ name }) => !ACTORS.includes(name)) : all
  let place = Math.max(
    tables.findIndex(({ name }) => name === at.table),
    0,
  )
  let page = tables[place]?.name === at.table ? at.page : 0
  let [deleted, pages, isLocked] = [0, 0, false]
  for (let table = tables[place]; table !== undefined; table = tables[place]) {
    if (isLocked || deleted >= ROWS || pages >= PAGES) {
      const progress = { ...at, table: table.name, page, changed: at.changed || deleted > 0 }
      await store.saveProgress(tx, organizationId, { ...progress, rows: at.rows + deleted })
      return 'more'
    }
    const of = { tx, table: table.name, organizationId }
    const part = table.indexed ? await byIndex(of, ROWS - deleted) : await byPage(of, page, PAGES - pages)
    // Rows of a parent wait for those of its children: deleting a parent deletes its children, and waits for their locks.
    if (part.isLocked && deleted + part.deleted === 0) return 'waits'
    deleted += part.deleted
    pages += part.pages
    isLocked = part.isLocked
    if (isLocked) continue
    page = part.next ?? 0
    if (part.next === null) place++
  }
  const rows = at.rows + deleted
  if (at.changed || deleted > 0) {
    await store.saveProgress(tx, organizationId, { ...BEGINNING, pass: at.pass + 1, rows })
    return 'more'
  }
  return end(tx, organizationId, { ...at, rows }, tables)
}

interface Part {
  readonly tx: Tx
  readonly table: string
  readonly organizationId: string
}

/** `next`: where to go on in the table; null at its end. `isLocked`: other transactions have rows that had to be deleted. */
interface PartEnd {
  readonly isLocked: boolean
  readonly deleted: number
  readonly pages: number
  readonly next: number | null
}

async function byIndex({ tx, table, organizationId }: Part, limit: number): Promise<PartEnd> {
  const deleted = await store.deleteSomeRows(tx, table, organizationId, limit)
  const isLocked = deleted < limit && (await store.hasRows(tx, table, organizationId))
  return { isLocked, deleted, pages: 0, next: deleted < limit ? null : 0 }
}

async function byPage({ tx, table, organizationId }: Part, from: number, pages: number): Promise<PartEnd> {
  const all = await store.pagesOf(tx, table)
  const to = Math.min(from + pages, all)
  const range = { from, to }
  const deleted = to > from ? await store.deleteRowsOfPages(tx, table, organizationId, range) : 0
  const isLocked = to > from && (await store.hasRowsOnPages(tx, table, organizationId, range))
  return { isLocked, deleted, pages: Math.max(to - from, 1), next: to < all ? to : null }
}

/** After a pass that found nothing: the users, and then the organization. */
async function end(
  tx: Tx,
  organizationId: string,
  progress: store.ErasureProgress,
  tables: readonly store.OrganizationTable[],
): Promise<StepEnd> {
  // The organization is locked without a lock of a user.
  if ((await store.forgetFormerMembers(tx, organizationId, USERS)) > 0) return 'more'
  await store.lockForDeletion(tx, organizationId)
  for (const { name, indexed } of tables)
    if (indexed && (await store.hasRows(tx, name, organizationId))) {
      await store.saveProgress(tx, organizationId, {
        ...BEGINNING,
        pass: progress.pass + 1,
        rows: progress.rows,
      })
      return 'more'
    }
  for (const name of store.OF_OTHERS)
    if (await store.hasRows(tx, name, organizationId)) {
      await store.saveProgress(tx, organizationId, { ...BEGINNING, pass: progress.pass, rows: progress.rows })
      return 'waits'
    }
  await store.deleteOrganization(tx, organizationId)
  return 'finished'
}

/** Each table after all tables that refer to it. */
async function tablesInOrder(query: Query): Promise<readonly store.OrganizationTable[]> {
  const tables = new Map((await store.tablesOfOrganizations(query)).map((table) => [table.name, table]))
  const parents = Map.groupBy(await store.references(query), ({ parent }) => parent)
  const sorted = new Set<string>()
  const visiting = new Set<string>()
  const visit = (table: string): void => {
    if (sorted.has(table) || visiting.has(table)) return
    visiting.add(table)
    for (const { child } of parents.get(table) ?? []) visit(child)
    sorted.add(table)
  }
  for (const name of tables.keys()) visit(name)
  return [...sorted].flatMap((name) => tables.get(name) ?? [])
}
