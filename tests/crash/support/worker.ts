/**
 * A worker process for the crash tests: the real runtime with handlers that write what they apply.
 *
 * Arguments: URL of the database, URL of Redis. Prints `ready` on standard output; only a signal ends it.
 */
import type { ActorDefinition, LongHandler, Message } from '../../../src/actors/types.ts'
import type { Tx } from '../../../src/platform/db/pool.ts'
import { sessions, startWorker, testDeps } from '../../support/actors.ts'
import { CRASH_OPTIONS } from './options.ts'

const [database = '', redis = ''] = process.argv.slice(2)

/** Records the message and whether it came in order. */
async function apply(message: Message, tx: Tx): Promise<void> {
  const { key, seq } = message
  const [state] = await tx<{ last: number }[]>`
    insert into state (key, last) values (${key}, ${seq})
    on conflict (key) do update set last = ${seq}
    returning coalesce((select last from state where key = ${key}), 0) as last`
  await tx`insert into applied (key, seq, after) values (${key}, ${seq}, ${state?.last ?? 0})`
}

const short = sessions(
  {
    async tick(message, tx) {
      await apply(message, tx)
      return 'done'
    },
    async poison() {
      throw new Error('poison')
    },
  },
  {
    maxAttempts: 20, // more than any innocent message is killed or cut off
    async giveUp(message, tx) {
      await apply(message, tx)
      return 'dead_letter'
    },
  },
)

const alone: LongHandler = async (turn) => {
  await turn.step(async (tx) => {
    await tx`update state set last = last where key = ${turn.message.key}`
  })
  await Bun.sleep((turn.message.seq % 10) * 5) // the I/O
  await turn.finish((tx) => apply(turn.message, tx))
}

const long: ActorDefinition = { kind: 'form', pool: 'long', maxAttempts: 100, handlers: { tick: alone } }

const grouped: ActorDefinition = {
  kind: 'analysis',
  pool: 'analysis',
  maxAttempts: 100,
  handlers: {
    tick: {
      alone,
      async together(turn) {
        await turn.read((tx) => tx`select from state where key = any(${turn.messages.map(({ key }) => key)})`)
        await Bun.sleep(Math.random() * 50) // the I/O
        if (Math.random() < 0.05) throw new Error('nobody is to blame')
        await turn.finish(async (tx) => {
          await Promise.all(turn.messages.map((message) => apply(message, tx)))
        })
      },
    },
  },
}

await startWorker(testDeps(database, redis), [short, long, grouped], CRASH_OPTIONS)
process.stdout.write('ready\n')
