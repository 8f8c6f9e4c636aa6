/** Checks at start that the PostgreSQL server is new enough. */
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Sql } from './pool.ts'
import { isServerAway } from './sqlstate.ts'

const OLDEST = 15

/**
 * Connects for the first time.
 * @param place the address of the server for messages; never contains a password
 * @throws StartError if the server refuses the connection or is too old; the connection error if it is away
 */
export async function assertServer(sql: Sql, place: string): Promise<void> {
  let version: string
  try {
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
    version = row?.version ?? ''
  } catch (error) {
    throw isServerAway(error) ? error : new StartError(`${place} cannot be used: ${oneLine(error)}`)
  }
  if (Number.parseInt(version, 10) < OLDEST)
    throw new StartError(`${place} is PostgreSQL ${version}, but must be ${OLDEST} or newer`)
}
