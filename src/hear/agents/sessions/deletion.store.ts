/**
 * Deletes whole sessions, on request and at the end of their retention.
 *
 * One transaction deletes all content of a session and its actors, under the session's row lock. The ledger keeps its rows,
 * because a deleted conversation stays billed.
 */

import { deleteActors } from '../../../actors/mailbox.ts'
import { analysisMessages, sessionReanalysisMessages } from '../../../kernel/messages/analysis.ts'
import { passageMessages } from '../../../kernel/messages/passage.ts'
import { sessionMessages } from '../../../kernel/messages/session.ts'
import type { Query } from '../../../platform/db/pool.ts'

/**
 * Deletes sessions with their events, revisions, responses, signals, passages, messages and dead letters. The caller's
 * transaction must hold no lock that comes after session rows.
 * @returns the ids of the sessions that existed in the organization
 */
export async function deleteSessions(
  tx: Query,
  organizationId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from agent_session
    where organization_id = ${organizationId} and id = any(${ids as string[]}::uuid[])
    order by id
    for update`
  const found = rows.map((row) => row.id)
  if (found.length === 0) return found
  const parts = [
    'agent_late_event',
    'agent_response',
    'agent_event_revision',
    'agent_event',
    'agent_signal',
  ].map(
    (table) => tx`
      delete from ${tx(table)}
      where organization_id = ${organizationId} and session_id = any(${found}::uuid[])`,
  )
  await Promise.all([
    ...parts,
    tx`
      delete from agent_session
      where organization_id = ${organizationId} and id = any(${found}::uuid[])`,
  ])
  await deleteActors(
    tx,
    found.flatMap((id) =>
      [sessionMessages, analysisMessages, sessionReanalysisMessages, passageMessages].map((actor) =>
        actor.key(id),
      ),
    ),
  )
  return found
}
