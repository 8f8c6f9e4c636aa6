/** Typed messages: what a declaration makes, and what a worker does with a message that its version cannot read. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import { declareActor, defineActor, kindsOf } from '../../src/actors/declaration.ts'
import { send } from '../../src/actors/mailbox.ts'
import { createRuntime } from '../../src/actors/runtime.ts'
import { ACTOR_KINDS } from '../../src/kernel/messages/all.ts'
import { recordingMessages } from '../../src/kernel/messages/recording.ts'
import { NO_SWEEP, type TestDeps, testDeps } from '../support/actors.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const messages = declareActor('session', 'short', {
  add: Type.Object({ amount: Type.Integer({ minimum: 1 }) }),
  reset: Type.Object({}),
})

let database: TestDatabase
let deps: TestDeps
beforeAll(async () => {
  database = await createTestDatabase()
  deps = testDeps(database.url, null)
})
afterAll(async () => {
  await deps.close()
  await database.drop()
})

test('a declaration makes keys and messages', () => {
  expect(recordingMessages.message('r1', 'process_upload', { payload: { uploadId: 'u1' } })).toEqual({
    key: 'recording:r1',
    type: 'process_upload',
    payload: { uploadId: 'u1' },
  })
  expect(messages.message('s1', 'reset', { delayMs: 5 })).toEqual({
    key: 'session:s1',
    type: 'reset',
    delayMs: 5,
  })
})

test('the compiler refuses an unknown type, a missing payload and one of another form', () => {
  // @ts-expect-error there is no such type
  messages.message('s1', 'subtract')
  // @ts-expect-error the type has a payload
  messages.message('s1', 'add')
  // @ts-expect-error the amount is a number
  messages.message('s1', 'add', { payload: { amount: '5' } })
  // @ts-expect-error every declared type has a handler
  defineActor(messages, { maxAttempts: 1, handlers: { reset: async () => 'done' } })
})

test('two declarations of one kind are refused', () => {
  expect(() => kindsOf([messages, messages])).toThrow('two actors of the kind session')
})

test('a message that this version cannot read becomes a dead letter with its reason, and the next one is handled', async () => {
  const added: number[] = []
  const asked: string[] = []
  const definition = defineActor(messages, {
    maxAttempts: 1,
    giveUp: async ({ type }) => {
      asked.push(type)
      return 'handled'
    },
    handlers: {
      add: async ({ payload }) => {
        added.push(payload.amount)
        return 'done'
      },
      reset: async () => 'done',
    },
  })
  const id = crypto.randomUUID()
  const unreadable = [
    { key: messages.key(id), type: 'add', payload: { amount: 'five' } },
    { key: messages.key(id), type: 'from_a_newer_version' },
  ]
  for (const message of unreadable) await send(database.sql, [message])
  await send(database.sql, [messages.message(id, 'add', { payload: { amount: 3 } })])
  const runtime = createRuntime(deps, [definition], { ...NO_SWEEP, sweepMs: 50 })
  await runtime.start()
  try {
    await eventually(() => added.length === 1)
    expect(added).toEqual([3])
    const dead = await database.sql`select type, last_error from actor_dead_letter order by seq`
    expect(dead.map(({ type }) => type)).toEqual(['add', 'from_a_newer_version'])
    expect(dead[0]?.last_error).toContain('cannot read the payload of session add: /amount')
    expect(dead[1]?.last_error).toContain('knows no message "from_a_newer_version"')
    // The domain is not asked about what it cannot read.
    expect(asked).toEqual([])
  } finally {
    await runtime.stop(1_000)
  }
})

test('no file of src makes the key of an actor by hand', () => {
  const kinds = [...ACTOR_KINDS.keys()].join('|')
  const byHand = new RegExp(`\\x60(?:${kinds}):\\$\\{`)
  const files = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: `${import.meta.dir}/../..` })]
  const found = files.filter((file) => byHand.test(readFileSync(`${import.meta.dir}/../../${file}`, 'utf8')))
  expect(found).toEqual([])
})
