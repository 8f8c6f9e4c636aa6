/** Rows of coding-agent sessions, for tests that need one without its upload. */

import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'

/** @returns the id of a session of a user; null: of an API key */
export async function insertCodingSession(
  sql: Sql,
  organizationId: string,
  userId: string | null,
): Promise<string> {
  const id = newId()
  await sql`
    insert into coding_session (id, organization_id, user_id, agent, external_session_id, title)
    values (${id}, ${organizationId}, ${userId}, 'claude-code', ${newId()}, 'Fix the checkout')`
  return id
}
