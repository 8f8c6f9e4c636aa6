/**
 * A worker thread as in production, with every possible defect: poison messages, a clock that
 * jumps by hours, short leases. Its probes record what the runtime did to them.
 */

import { parentPort } from 'node:worker_threads'
import type { RuntimeOptions } from '../../../src/actors/options.ts'
import { serveThread } from '../../../src/actors/thread.ts'
import type { ActorDefinition, LongHandler, Message, ShortHandler } from '../../../src/actors/types.ts'
import { createRemoteTextWork } from '../../../src/analysis/analyze/text-port.ts'
import { createContainer } from '../../../src/app/container.ts'
import { createFeatures } from '../../../src/app/features.ts'
import type { Config } from '../../../src/kernel/config.ts'
import type { Tx } from '../../../src/platform/db/pool.ts'
import { FAULTY_OPTIONS } from './options.ts'

if (parentPort === null) throw new Error('this file is the entry of a thread')

const JUMP_EVERY_MS = 200
const JUMP_HOURS = 12
/** Between two commits of a long turn: enough for others to take over meanwhile. */
const IO_MS = 1_500
const POISON_ATTEMPTS = 2
/** More often than an innocent message is ever interrupted. */
const INNOCENT_ATTEMPTS = 1_000

/** Jumps by up to half a day in both directions. Nothing important may depend on this clock. */
function letTheClockJump(): void {
  const RealDate = Date
  const realNow = Date.now
  let offsetMs = 0
  setInterval(() => {
    offsetMs = (Math.random() * 2 - 1) * JUMP_HOURS * 3_600_000
  }, JUMP_EVERY_MS)
  const now = () => realNow() + offsetMs
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  })
}

/** One row for each commit of a turn. `token` identifies the attempt; `part` is 0 for the last commit. */
async function note(tx: Tx, { key, seq }: Message, token: string, part: number): Promise<void> {
  await tx`insert into probe (key, seq, token, part) values (${key}, ${seq}, ${token}, ${part})`
}

const shortProbe: ShortHandler = async (message, tx) => {
  await note(tx, message, crypto.randomUUID(), 0)
  return 'done'
}

const longProbe: LongHandler = async (turn) => {
  const token = crypto.randomUUID()
  for (const part of [1, 2, 3]) {
    await turn.step((tx) => note(tx, turn.message, token, part))
    await Bun.sleep(Math.random() * IO_MS)
  }
  await turn.finish((tx) => note(tx, turn.message, token, 0))
}

/** The limit of deaths is that of all messages of the trial, so a message that has ended two workers only fails from then on. */
function assertDeadly({ deaths = 0 }: Message): void {
  if (deaths >= POISON_ATTEMPTS) throw new Error('poison')
}

const poison: Readonly<Record<string, ShortHandler>> = {
  async poison_throw() {
    throw new Error('poison')
  },
  poison_hang: () => new Promise(() => {}),
  poison_kill(message) {
    assertDeadly(message)
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => {})
  },
  poison_thread(message) {
    assertDeadly(message)
    setTimeout(() => {
      throw new Error('outside of any turn')
    })
    return new Promise(() => {})
  },
}

const isPoison = (message: Message) => Object.hasOwn(poison, message.type)

/** The actor definitions of the service, and the probes of the trial. */
function withProbes(definition: ActorDefinition): ActorDefinition {
  const maxAttempts = INNOCENT_ATTEMPTS
  if (definition.kind === 'session' && definition.pool === 'short') {
    return {
      ...definition,
      maxAttempts,
      maxAttemptsOf: Object.fromEntries(Object.keys(poison).map((type) => [type, POISON_ATTEMPTS])),
      handlers: { ...definition.handlers, ...poison, probe: shortProbe },
      giveUp: async (message, tx, send, error) =>
        isPoison(message)
          ? 'dead_letter'
          : ((await definition.giveUp?.(message, tx, send, error)) ?? 'dead_letter'),
    }
  }
  if (definition.kind === 'analysis' && definition.pool === 'analysis')
    return { ...definition, maxAttempts, handlers: { ...definition.handlers, probe: longProbe } }
  return definition
}

letTheClockJump()
serveThread<Config>(parentPort, ({ config, servers, index, port }) => {
  const textWork = port === null ? undefined : createRemoteTextWork(port)
  const container = createContainer(config, servers, `earshot-thread-${index}`, { redoable: true, textWork })
  const { actors, maintenance } = createFeatures(container)
  const options: Partial<RuntimeOptions> = {
    ...FAULTY_OPTIONS,
    statementTimeoutMs: config.databaseStatementTimeoutMs,
  }
  return { container, actors: actors.map(withProbes), maintenance, options }
})
