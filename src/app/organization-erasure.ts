/**
 * Deletes an organization: refuses everything of it at once, then erases its rows, its objects and its files in small steps.
 *
 * `begin` ends its credentials and marks it. The task `organization_erasure` does the rest. Every step commits with its progress, so a process that is
 * killed is followed by the next one. What other systems still hold is awaited: a bot that has to leave its meeting, a recorder that has
 * to delete its copy, an object that a request or a turn from before may still be writing. Then the organization's own row goes.
 */

import { forgetCredentials } from '../access/identity/demo.ts'
import {
  claimErased,
  endOrganization,
  erasedOrganizations,
  eraseRows,
  refuseMeanwhile,
  type StepEnd,
  usersOfNoOther,
} from '../access/identity/erase.ts'
import type { OrganizationDeletion } from '../access/organizations/routes.ts'
import { transactionWithOutbox } from '../actors/mailbox.ts'
import { stopActors } from '../actors/organization-messages.ts'
import type { MaintenanceTask } from '../actors/types.ts'
import { deleteDiscardedOf } from '../calls/media/service.ts'
import { removeJoins } from '../calls/meetings/discard.ts'
import { removeSome } from '../calls/recordings/service.ts'
import { deleteUploads, discardDueOf } from '../calls/uploads/garbage.ts'
import type { Deps } from '../kernel/deps.ts'
import { meetingMessages } from '../kernel/messages/meeting.ts'
import type { Alongside } from '../platform/db/alongside.ts'
import { transaction } from '../platform/db/transaction.ts'
import { forgetMails } from '../platform/mail/create.ts'
import { disableWebhooks } from '../tell/webhooks/service.ts'

/** Of one step. */
const ACTORS = 500
const RECORDINGS = 20
const UPLOADS = 200

type DeletionDeps = Pick<Deps, 'sql' | 'notifier' | 'storage' | 'config' | 'log'>

export function createOrganizationDeletion({
  sql,
  log,
  forget,
}: Pick<Deps, 'sql' | 'log'> & {
  /** Drops a credential from the caches of this process. */
  readonly forget: (id: string) => void
}): OrganizationDeletion {
  return {
    async begin(organizationId: string, name: string, also?: Alongside<string>): Promise<void> {
      const ended = await transaction(sql, async (tx) => {
        const ids = await endOrganization(tx, organizationId, name)
        await disableWebhooks(tx, organizationId)
        await also?.(tx, organizationId)
        return ids
      })
      for (const id of ended) forget(id)
      log.info({ organizationId }, 'organization is being erased')
    },
  }
}

export function organizationMaintenance(deps: DeletionDeps): readonly MaintenanceTask[] {
  return [{ name: 'organization_erasure', everySeconds: 2, run: (stopping) => eraseAll(deps, stopping) }]
}

/**
 * Goes as far as it can with every organization that is being erased, also with those that come meanwhile. They take turns, so one that is large, waits or fails does not hold up
 * the others.
 */
async function eraseAll(deps: DeletionDeps, stopping: AbortSignal): Promise<void> {
  const [seen, waiting] = [new Set<string>(), new Set<string>()]
  while (!stopping.aborted) {
    const going = (await erasedOrganizations(deps.sql)).filter((id) => !waiting.has(id))
    if (going.length === 0) return
    for (const id of going) {
      if (stopping.aborted) return
      try {
        if (!seen.has(id)) await removeFiles(deps, id)
        seen.add(id)
        if (!(await eraseSome(deps, id, stopping))) waiting.add(id)
      } catch (error) {
        waiting.add(id)
        deps.log.error({ organizationId: id, err: error }, 'could not erase an organization yet')
      }
    }
  }
}

/** @returns whether there is more that can be done now */
async function eraseSome(deps: DeletionDeps, id: string, stopping: AbortSignal): Promise<boolean> {
  await transaction(deps.sql, (tx) => refuseMeanwhile(tx, id))
  const end = await step(deps, id)
  if (end === 'more') return true
  if (end === 'finished') {
    deps.log.info({ organizationId: id }, 'organization erased')
    return false
  }
  const deleted = (await deleteDiscardedOf(deps, id, stopping)) + (await discardDueOf(deps, id, stopping))
  return end === 'files' || deleted > 0
}

/**
 * The first thing that there is to do. `files`: rows were deleted whose objects can go now. The organization is not locked, because the step
 * locks its objects, and then mailboxes, and nothing after these.
 */
function step(deps: DeletionDeps, id: string): Promise<StepEnd | 'files'> {
  return transactionWithOutbox(deps, async (tx, outbox) => {
    const erased = await claimErased(tx, id)
    if (erased === null) return 'waits'
    if ((await removeSome(tx, outbox, id, RECORDINGS)) > 0) return 'files'
    if ((await deleteUploads(tx, id, UPLOADS)) > 0) return 'files'
    const joins = await removeJoins(tx, id)
    if (joins.deleted > 0) return 'more'
    if ((await stopActors(tx, id, { except: meetingMessages.kind, limit: ACTORS })) > 0) return 'more'
    return eraseRows(tx, id, erased.progress, joins.areLeft)
  })
}

/** The organization's files outside of the object store. Nothing writes others: its actors stop, and its people cannot sign in. */
async function removeFiles({ sql, config }: DeletionDeps, id: string): Promise<void> {
  await forgetMails(config.dataDir, [id, ...(await usersOfNoOther(sql, id))])
  await forgetCredentials(config.dataDir, id)
}
