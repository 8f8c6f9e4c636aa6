/** graphile-worker with a named queue per key: serial, on PostgreSQL, with the performance settings of its documentation. */
import { makeWorkerUtils, type Runner, run, type TaskList } from 'graphile-worker'
import pg from 'pg'
import { countUntil, type Peer, type PeerOptions } from '../support/peer.ts'

const CONCURRENCY = 24
/** Logging is off, because no other peer logs each message. */
const QUIET = { error: console.error, warn() {}, info() {}, debug() {} }

export async function createPeer({ databaseUrl, about }: PeerOptions): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONCURRENCY + 2 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const { Logger } = await import('graphile-worker')
  const logger = new Logger(() => (level, message) => QUIET[level as keyof typeof QUIET]?.(message))
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  await utils.migrate()
  const start = (message: (payload: unknown) => void): Promise<Runner> => {
    const taskList: TaskList = { message: async (payload) => message(payload) }
    return run({
      pgPool: pool,
      logger,
      taskList,
      noHandleSignals: true,
      preset: { worker: { concurrentJobs: CONCURRENCY, maxPoolSize: CONCURRENCY + 2 } },
    })
  }
  return {
    name: 'graphile-worker',
    about,
    async fill(keys, perKey) {
      await pool.query(
        `select count(graphile_worker.add_job('message', json_build_object('id', n), queue_name := 'key-' || (n % $1::int)))
        from generate_series(0, $1::int * $2::int - 1) as n`,
        [keys, perKey],
      )
    },
    drain: (total, limitMs) =>
      countUntil(total, limitMs, async (count) => {
        const runner = await start(count)
        return () => runner.stop()
      }),
    clear: async () =>
      void (await pool.query(
        'truncate graphile_worker._private_jobs, graphile_worker._private_job_queues restart identity',
      )),
    async work(applied) {
      const runner = await start((payload) => {
        const { id, told } = payload as { id: number; told: boolean }
        if (told) applied(id)
      })
      return {
        send: async (key, id, told) =>
          void (await utils.addJob('message', { id, told }, { queueName: `key-${key}` })),
        stop: () => runner.stop(),
      }
    },
    async [Symbol.asyncDispose]() {
      await utils.release()
      await pool.end()
    },
  }
}
