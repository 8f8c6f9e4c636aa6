/** The oldest PostgreSQL that this service works with, checked once at start. */
import { oneLine, StartError } from '../start-error.ts'
import type { Sql } from './pool.ts'

const OLDEST = 15

/**
 * Connects for the first time.
 * @param place where the server is, for the message: never with a password
 * @throws StartError where it cannot be reached, refuses us, or is too old
 */
export async function assertServer(sql: Sql, place: string): Promise<void> {
  let version: string
  try {
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
    version = row?.version ?? ''
  } catch (error) {
    throw new StartError(`${place} cannot be used: ${reasonOf(error)}`)
  }
  if (Number.parseInt(version, 10) < OLDEST)
    throw new StartError(`${place} is PostgreSQL ${version}, but must be ${OLDEST} or newer`)
}

function reasonOf(error: unknown): string {
  // Where every address of a host refuses, the reasons are inside and there is no message outside.
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return oneLine(inner)
}
