/**
 * A process that causes events and one that sends them, in one, for tests that kill it.
 *
 * Arguments: URL of the database, URL of Redis or '', folder of data, organization, feedback source, and the number of the last event.
 * Events are feedback records with the external ids 1 to that number, five in a transaction. A signal is the only way to end it.
 */
import { createRuntime } from '../../../src/actors/runtime.ts'
import { forwardTriggerWakeUps } from '../../../src/actors/trigger-wake-ups.ts'
import { loadConfig } from '../../../src/app/config.ts'
import { createContainer } from '../../../src/app/container.ts'
import { connect } from '../../../src/platform/db/pool.ts'
import { webhookActors } from '../../../src/tell/webhooks/actor.ts'
import { CRASH_OPTIONS } from '../../crash/support/options.ts'
import { LOCAL } from '../../support/webhooks.ts'

const [database = '', redis = '', dataDir = '', organizationId = '', sourceId = '', last = '0'] =
  process.argv.slice(2)

const config = loadConfig({ ...LOCAL, ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
const servers = { database: { url: database }, redis: redis === '' ? null : redis }
const container = createContainer(config, servers, 'test-sender', { redoable: true })
const options = {
  retrySeconds: [0.05, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
  timeoutMs: 500,
  maxFailingSeconds: 3_600,
}
await createRuntime(container, webhookActors(container, options), CRASH_OPTIONS).start()
await forwardTriggerWakeUps(container)

/** Commits here wait for the disk, as requests do. Turns do not. */
const sql = connect(servers.database, { max: 1, applicationName: 'test-cause' })

/** Writes the next events. Another process may write them at the same time: the second one then writes nothing. */
const TOGETHER = 5
async function causeEvents(): Promise<'more' | 'done'> {
  const [row] = await sql<{ next: number }[]>`
    select count(*)::int + 1 as next from feedback_record
    where organization_id = ${organizationId} and feedback_source_id = ${sourceId}`
  const next = row?.next ?? 1
  if (next > Number(last)) return 'done'
  await sql`
    insert into feedback_record (organization_id, feedback_source_id, external_id, display_ts, fields)
    select ${organizationId}, ${sourceId}, n::text, now(), '[]'
    from generate_series(${next}::int, ${next + TOGETHER - 1}::int) n
    on conflict do nothing`
  return 'more'
}

for (;;) {
  // PostgreSQL may be away for a moment.
  const state = await causeEvents().catch(() => 'away' as const)
  if (state === 'done') break
  if (state === 'away') await Bun.sleep(50)
}
