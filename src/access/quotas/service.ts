/**
 * Quotas: how much an organization may store, of media in bytes and of conversations in events.
 *
 * Media are counted under the lock of the organization, so two uploads at once never pass the quota together. Events arrive too often for
 * that: each process asks for the count every second, and adds what it has stored since. An organization can pass its quota by what other
 * processes store for it within this second.
 */
import { LRUCache } from 'lru-cache'
import type { Deps } from '../../kernel/deps.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Query, Sql, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { lockOrganization } from '../identity/organizations.ts'
import { quotaExceeded } from './errors.ts'
import { refusalsOf } from './metrics.ts'
import { limitOf, roomOf, WARNED_FROM } from './quota.rules.ts'
import { type QuotaState, selectFull, selectUse, updateQuotas } from './store.ts'

type MediaDeps = Pick<Deps, 'config' | 'metrics'>

/** @returns bytes that the organization may still store; null: any number */
export async function mediaRoom(
  query: Query,
  { config }: Pick<Deps, 'config'>,
  organizationId: string,
): Promise<number | null> {
  const use = await selectUse(query, organizationId, 'media_bytes')
  return use === undefined ? null : roomOf(limitOf(use.own, config.quotas.mediaBytes), use.used)
}

/**
 * Holds the lock of the organization until the transaction ends. `bytes`: what the transaction will add; 0 if it has added it already.
 * @throws AppError 507 `quota_exceeded`
 */
export async function assertMediaQuota(
  tx: Tx,
  { config, metrics }: MediaDeps,
  organizationId: string,
  bytes: number,
): Promise<void> {
  const before = await selectUse(tx, organizationId, 'media_bytes')
  if (before === undefined || limitOf(before.own, config.quotas.mediaBytes) === null) return
  await lockOrganization(tx, organizationId)
  const use = await selectUse(tx, organizationId, 'media_bytes')
  const limit = use === undefined ? null : limitOf(use.own, config.quotas.mediaBytes)
  if (use === undefined || limit === null || use.used + bytes <= limit) return
  refusalsOf(metrics).inc({ quota: 'media' })
  throw quotaExceeded('media')
}

/** Events of organizations, as one process knows them. */
export interface EventQuota {
  /**
   * Reserves room for events.
   * @returns a function to call with the number of events that were stored
   * @throws AppError 507 `quota_exceeded`
   */
  reserve(organizationId: string, events: number): Promise<(stored: number) => void>
}

/** Milliseconds for which a count is used. */
const KNOWN_MS = 1_000
const MOST_KNOWN = 10_000

interface Known {
  readonly used: number
  readonly limit: number | null
  readonly at: number
}

interface Account {
  known: Known | null
  asking: Promise<Known> | null
  /** Reserved, and not stored yet. */
  reserved: number
  /** Stored since the known count was asked for. */
  stored: number
}

export function createEventQuota(deps: Pick<Deps, 'sql' | 'config' | 'metrics'>): EventQuota {
  const { sql, config } = deps
  const refusals = refusalsOf(deps.metrics)
  const accounts = new LRUCache<string, Account>({ max: MOST_KNOWN })

  async function ask(organizationId: string, account: Account): Promise<Known> {
    const at = performance.now()
    const storedBefore = account.stored
    const use = await selectUse(sql, organizationId, 'events')
    // The answer has what was stored before the question, and perhaps some of what was stored since.
    account.stored -= storedBefore
    const limit = use === undefined ? null : limitOf(use.own, config.quotas.events)
    account.known = { used: use?.used ?? 0, limit, at }
    return account.known
  }

  function knownOf(organizationId: string, account: Account, maxAgeMs: number): Known | Promise<Known> {
    const { known } = account
    if (known !== null && performance.now() - known.at < maxAgeMs) return known
    account.asking ??= ask(organizationId, account).finally(() => {
      account.asking = null
    })
    return account.asking
  }

  const fits = ({ used, limit }: Known, account: Account, events: number) =>
    limit === null || used + account.stored + account.reserved + events <= limit

  return {
    async reserve(organizationId, events) {
      const account = accounts.get(organizationId) ?? { known: null, asking: null, reserved: 0, stored: 0 }
      accounts.set(organizationId, account)
      // A count that is about to refuse may be old: some events may have been deleted.
      if (!fits(await knownOf(organizationId, account, KNOWN_MS), account, events)) {
        if (!fits(await knownOf(organizationId, account, 0), account, events)) {
          refusals.inc({ quota: 'events' })
          throw quotaExceeded('events of conversations')
        }
      }
      account.reserved += events
      return (stored) => {
        account.reserved -= events
        account.stored += stored
      }
    },
  }
}

interface Limited {
  readonly used: number
  /** Null: any number. */
  readonly limit: number | null
}

/** What the organization stores, and may store. */
export async function quotasOf(
  query: Query,
  { quotas }: Pick<Deps['config'], 'quotas'>,
  organizationId: string,
): Promise<{ readonly mediaBytes: Limited; readonly events: Limited }> {
  const [media, events] = await Promise.all([
    selectUse(query, organizationId, 'media_bytes'),
    selectUse(query, organizationId, 'events'),
  ])
  return {
    mediaBytes: { used: media?.used ?? 0, limit: limitOf(media?.own ?? null, quotas.mediaBytes) },
    events: { used: events?.used ?? 0, limit: limitOf(events?.own ?? null, quotas.events) },
  }
}

/** An own limit: -1 for none, null for that of the settings, undefined to leave it. */
type OwnLimit = number | null | undefined

/** Sets limits of the organization's own. */
export async function setQuotas(
  sql: Sql,
  organizationId: string,
  change: { readonly media: OwnLimit; readonly events: OwnLimit },
  also: Alongside<null>,
): Promise<void> {
  if (change.media === undefined && change.events === undefined) return
  await transaction(sql, async (tx) => {
    await updateQuotas(tx, organizationId, change)
    await also(tx, null)
  })
}

/** Organizations that use at least 80 % of a quota, the fullest first. */
export function nearQuotas(
  query: Query,
  { quotas }: Pick<Deps['config'], 'quotas'>,
): Promise<readonly QuotaState[]> {
  return selectFull(query, quotas, WARNED_FROM, 100)
}
