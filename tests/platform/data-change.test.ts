/** Background data changes: they resume after a crash, run in one process at a time, and disturb no other process. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createTextWorkHere } from '../../src/analysis/analyze/text-work.ts'
import { dataChangeMaintenance } from '../../src/app/data-changes.ts'
import {
  type ComputedChange,
  runDataChange,
  unfinishedDataChanges,
} from '../../src/platform/db/data-change.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { doubling } from '../support/data-change.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const ROWS = 1_000
const PROCESS = new URL('../support/data-change-process.ts', import.meta.url).pathname

let database: TestDatabase

beforeEach(async () => {
  database = await createTestDatabase()
  await database.sql`create table thing (id int primary key, size int, new_size int, times int not null default 0)`
  await database.sql`insert into thing (id, size) select i, i from generate_series(1, ${ROWS}) i`
  await database.sql`analyze thing`
})
afterEach(() => database.drop())

const options = () => ({
  runner: newId(),
  stopping: new AbortController().signal,
  leaseMs: 300,
  pauseRatio: 0,
})
const done = async () => (await unfinishedDataChanges(database.sql))[0]?.rowsDone ?? 0
/** Row counts by number of changes. */
const times = async () => {
  const rows = await database.sql<{ times: number; count: number }[]>`
    select times, count(*)::int as count from thing group by times order by times`
  return rows.map((row) => ({ ...row }))
}

describe('a data change', () => {
  test('changes every row once', async () => {
    expect(await runDataChange(database.sql, doubling, options())).toBe('finished')
    expect(await times()).toEqual([{ times: 1, count: ROWS }])
    expect(await runDataChange(database.sql, doubling, options())).toBe('finished')
    expect(await times()).toEqual([{ times: 1, count: ROWS }])
  })

  test('resumes after the last committed row after kill -9, while an older process writes', async () => {
    const child = Bun.spawn([process.execPath, PROCESS, database.url], {
      stdout: 'ignore',
      stderr: 'inherit',
    })
    await eventually(async () => (await done()) >= 200)
    // An older version does not know the new column.
    await database.sql`update thing set size = size + 1 where id = 1000`
    await database.sql`insert into thing (id, size) values (2000, 7)`
    child.kill('SIGKILL')
    await child.exited
    expect(await unfinishedDataChanges(database.sql)).toMatchObject([{ name: 'thing_size', rowsTotal: ROWS }])
    expect(await done()).toBeLessThan(ROWS)
    await eventually(async () => (await runDataChange(database.sql, doubling, options())) === 'finished')
    expect(await times()).toEqual([{ times: 1, count: ROWS + 1 }])
    const rows = await database.sql`select id, new_size as size from thing where id >= 1000 order by id`
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { id: 1000, size: 2002 },
      { id: 2000, size: 14 },
    ])
    expect(await unfinishedDataChanges(database.sql)).toEqual([])
  })

  test('runs in one process at a time', async () => {
    const first = new AbortController()
    const changed = Promise.withResolvers<void>()
    const slow = {
      ...doubling,
      async change(...args: Parameters<typeof doubling.change>) {
        await doubling.change(...args)
        changed.resolve()
      },
    }
    const running = runDataChange(database.sql, slow, {
      runner: newId(),
      stopping: first.signal,
      leaseMs: 60_000,
      pauseRatio: 1_000_000,
    })
    await changed.promise
    expect(await runDataChange(database.sql, doubling, options())).toBe('leased')
    first.abort()
    expect(await running).toBe('stopped')
    // A process that stops properly releases its lease.
    expect(await runDataChange(database.sql, doubling, options())).toBe('finished')
    expect(await times()).toEqual([{ times: 1, count: ROWS }])
  })

  test('that computes holds no row meanwhile, and another process that took over is not undone', async () => {
    const { sql } = database
    const [computing, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { change: double, ...thing } = doubling
    const seen: (readonly string[])[] = []
    const slow: ComputedChange = {
      ...thing,
      async compute(_, keys) {
        seen.push(keys)
        computing.resolve()
        await go.promise
        return double
      },
    }
    const first = runDataChange(sql, slow, options())
    await computing.promise
    await sql.begin(async (tx) => {
      await tx`set local lock_timeout = '1s'`
      await tx`update thing set size = 100 where id = 1`
      await tx`delete from thing where id = 50`
    })
    // The lease of the first has ended.
    await eventually(async () => (await runDataChange(sql, doubling, options())) === 'finished')
    go.resolve()
    expect(await first).toBe('finished')
    expect(seen).toHaveLength(1)
    expect(await times()).toEqual([{ times: 1, count: ROWS - 1 }])
    const [row] = await sql`select new_size as size from thing where id = 1`
    expect(row?.size).toBe(200)
  })

  test('that computes changes every row once, also where rows come and go between', async () => {
    const { sql } = database
    const { change: double, ...thing } = doubling
    let steps = 0
    const busy: ComputedChange = {
      ...thing,
      async compute(_, keys) {
        steps += 1
        if (steps === 1) await sql`delete from thing where id in (3, 50)`
        if (steps === 2) await sql`insert into thing (id, size) values (-1, 1), (5000, 1)`
        expect(keys.length).toBeLessThanOrEqual(50)
        return double
      },
    }
    expect(await runDataChange(sql, busy, options())).toBe('finished')
    // -1 came behind the position, as what an older process writes.
    expect(await times()).toEqual([
      { times: 0, count: 1 },
      { times: 1, count: ROWS - 1 },
    ])
    const [progress] = await sql`select rows_done::int as done from data_change where name = 'thing_size'`
    expect(progress?.done).toBe(ROWS - 1)
  })

  test('is a maintenance task of the service', async () => {
    const deps = { sql: database.sql, newId, log: createLog('silent', 'test') }
    const [task, ...others] = dataChangeMaintenance({ ...deps, textWork: createTextWorkHere() }, [doubling])
    expect(others).toEqual([])
    await task?.run(new AbortController().signal)
    expect(await times()).toEqual([{ times: 1, count: ROWS }])
  })
})
