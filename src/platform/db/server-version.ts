/** The oldest PostgreSQL that this service works with, checked once at start. */
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Sql } from './pool.ts'
import { isServerAway } from './sqlstate.ts'

const OLDEST = 15

/**
 * Connects for the first time.
 * @param place where the server is, for the message: never with a password
 * @throws StartError where it refuses us or is too old; the error of the connection where it is away
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
