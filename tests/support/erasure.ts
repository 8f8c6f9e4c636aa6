/** Erasures for tests: where words are found in the whole service, and transactions that hold up what is in flight. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql, Tx } from '../../src/platform/db/pool.ts'
import { eventually } from './eventually.ts'
import { PEOPLE } from './feedback.ts'
import type { Answer, Client, TestServer } from './server.ts'

/** By table, or file of the service, those of the words that it contains, whatever their case. */
export async function whereFound(
  server: TestServer,
  words: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const { sql } = server.database
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`
  if (tables.length < 40) throw new Error('the schema has more tables than these')
  const found: Record<string, readonly string[]> = {}
  const look = (place: string, text: string) => {
    const lower = text.toLowerCase()
    const there = words.filter((word) => lower.includes(word.toLowerCase()))
    if (there.length > 0) found[place] = there
  }
  for (const { name } of tables) {
    let text = ''
    for await (const chunk of await sql`copy ${sql(name)} to stdout`.readable()) text += String(chunk)
    look(name, text)
  }
  for (const path of filesIn(server.deps.config.dataDir)) look(path, readFileSync(path, 'latin1'))
  return found
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false)
}

/** @returns the id of the erasure */
export async function requestErasure(key: Client, person: number | string): Promise<string> {
  const { status, body } = await key.delete(`${PEOPLE}/${person}`)
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.id
}

/** Waits until the erasure has been everywhere once. */
export async function passedOnce(server: TestServer, erasureId: string): Promise<void> {
  await eventually(async () => {
    const [row] = await server.database.sql<{ ended: boolean; pass: number | null }[]>`
      select finished_at is not null as ended, (progress ->> 'pass')::int as pass
      from person_erasure where id = ${erasureId}`
    return row !== undefined && (row.ended || (row.pass ?? 1) > 1)
  })
}

/** Waits for the end of the erasure. @returns its receipt */
export function erasureEnd(key: Client, erasureId: string): Promise<Answer['body']> {
  return eventually(async () => {
    const { body } = await key.get(`/v3/rest/person-erasures/${erasureId}`)
    return body.status === 'completed' ? body : false
  })
}

/** An open transaction, which holds what `work` has locked or written. */
export interface Held {
  /** Waits until another transaction waits for this one. */
  blocks(): Promise<void>
  /** Rolls back. */
  release(): Promise<void>
}

export async function hold(sql: Sql, work: (tx: Tx) => Promise<unknown>): Promise<Held> {
  const begun = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<void>()
  const rollback = new Error('rolled back')
  const transaction = sql
    .begin(async (tx) => {
      await work(tx as Tx)
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
      begun.resolve(row?.pid ?? 0)
      await ended.promise
      throw rollback
    })
    .catch((error: unknown) => {
      begun.reject(error)
      if (error !== rollback) throw error
    })
  const pid = await begun.promise
  return {
    async blocks() {
      await eventually(async () => {
        const waiting =
          await sql`select 1 from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`
        return waiting.count > 0
      })
    },
    async release() {
      ended.resolve()
      await transaction
    },
  }
}
