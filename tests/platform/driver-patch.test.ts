/**
 * The patches of the PostgreSQL driver: the parts form the file that Bun applies, and the two performance patches work.
 * `lost-connection.test.ts` and `half-open.test.ts` test the other two.
 */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const ROOT = resolve(import.meta.dir, '../..')
const PATCHES = join(ROOT, 'patches')

let database: TestDatabase
let sql: Sql

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  sql = connect({ url: database.url }, { max: 4, applicationName: 'driver patch' })
})
afterAll(async () => {
  await sql.end({ timeout: 5 })
  await database.drop()
})

function apply(folder: string, patch: string, ...options: string[]): void {
  const { success, stderr } = Bun.spawnSync(['git', 'apply', ...options, join(PATCHES, patch)], {
    cwd: folder,
  })
  if (!success) throw new Error(`${patch}: ${stderr}`)
}

test('the combined patch equals the numbered parts, in order', () => {
  const installed = join(ROOT, 'node_modules', 'postgres')
  const folder = mkdtempSync(join(tmpdir(), 'earshot-patch-'))
  try {
    for (const part of ['src', 'types'])
      cpSync(join(installed, part), join(folder, part), { recursive: true })
    apply(folder, 'postgres@3.4.9.patch', '-R')
    for (const part of readdirSync(join(PATCHES, 'postgres')).sort()) apply(folder, join('postgres', part))
    for (const file of ['src/connection.js', 'src/index.js', 'src/queue.js', 'types/index.d.ts'])
      expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(join(installed, file), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('statements sent together leave in one write', async () => {
  const single = connect({ url: database.url }, { max: 1, applicationName: 'one write' })
  const statement = (text: string) => single<{ length: number }[]>`select length(${text}) as length`
  await statement('prepares the statement')
  const write = spyOn(Socket.prototype, 'write')
  try {
    const rows = await Promise.all(Array.from({ length: 40 }, () => statement('x'.repeat(1_000))))
    expect(rows.map(([row]) => row?.length)).toEqual(Array.from({ length: 40 }, () => 1_000))
    expect(write).toHaveBeenCalledTimes(1)
  } finally {
    write.mockRestore()
    await single.end({ timeout: 5 })
  }
})

test('the most recently used idle connection is taken', async () => {
  const backend = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid
  const opened = await Promise.all(
    Array.from({ length: 4 }, () => sql<{ pid: number }[]>`select pg_backend_pid() as pid, pg_sleep(0.1)`),
  )
  expect(new Set(opened.map(([row]) => row?.pid)).size).toBe(4)
  const first = await backend()
  for (let turn = 0; turn < 8; turn += 1) expect(await backend()).toBe(first)
})
