/**
 * Periodic tasks for the whole service.
 *
 * `started_at` in the database decides, in one statement. However many processes ask, only one starts the task, and no process
 * starts it again before its period is over. A process that dies during the task costs one round. A process that is stopped
 * costs none: it makes the task due again.
 */
import type { Query, Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import { jittered, pause } from './pause.ts'
import type { MaintenanceTask } from './types.ts'

/** Runs every task with its period until `stopping` is aborted; resolves when the last task has ended. */
export async function keepMaintaining(
  deps: { readonly sql: Sql; readonly log: Log },
  tasks: readonly MaintenanceTask[],
  stopping: AbortSignal,
): Promise<void> {
  await Promise.all(
    tasks.map(async (task) => {
      while (!stopping.aborted) {
        await runIfDue(deps, task, stopping)
        await pause(jittered((task.everySeconds * 1_000) / 2), stopping)
      }
    }),
  )
}

/** @returns true if the task was due and this process ran it. Errors are logged; the next round tries again. */
export async function runIfDue(
  deps: { readonly sql: Sql; readonly log: Log },
  task: MaintenanceTask,
  stopping: AbortSignal,
): Promise<boolean> {
  try {
    if (!(await start(deps.sql, task))) return false
    await task.run(stopping)
    if (stopping.aborted) await giveRoundBack(deps.sql, task)
  } catch (error) {
    deps.log.error({ task: task.name, err: error }, 'maintenance failed')
  }
  return true
}

async function start(sql: Query, task: MaintenanceTask): Promise<boolean> {
  const started = await sql`
    insert into maintenance (name) values (${task.name})
    on conflict (name) do update set started_at = now()
    where maintenance.started_at <= now() - ${task.everySeconds}::float8 * interval '1 second'`
  return started.count === 1
}

/** Makes the task due again, because it may have been cut short. Running a round twice is harmless. */
async function giveRoundBack(sql: Query, { name }: MaintenanceTask): Promise<void> {
  await sql`update maintenance set started_at = '-infinity' where name = ${name}`
}
