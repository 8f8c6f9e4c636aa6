/** Waiting messages and dead letters of actors. */
import { AppError } from '../../platform/errors.ts'
import { type Command, type Input, type Output, wholeNumber } from '../command.ts'
import { table } from '../output.ts'

const MAX_LISTED = 1_000

const load = async () => ({
  ...(await import('../services.ts')),
  ...(await import('../../actors/dead-letters.ts')),
})
type Loaded = Awaited<ReturnType<typeof load>>

/** Runs an operation on the message that the arguments name. */
async function onMessage(
  input: Input,
  operation: 'retryDeadLetter' | 'skipMessage',
  done: string,
): Promise<Output> {
  const key = input.arg('actor')
  const seq = wholeNumber('number', input.arg('number'), 1)
  const loaded: Loaded = await load()
  return loaded.withServices(input, async ({ container }) => {
    if (!(await loaded[operation](container, key, seq)))
      throw new AppError('not_found', `There is no such message ${seq} of ${key}.`)
    return { json: { key, seq, [done]: true }, lines: [done] }
  })
}

const deadLetters: readonly Command[] = [
  {
    name: 'dead-letter list',
    args: [],
    summary: 'List dead letters (messages that failed for good), newest first',
    flags: { actor: { value: 'key', summary: 'only this actor, such as session:<id>' } },
    async run(input) {
      const { listDeadLetters, withServices } = await load()
      return withServices(input, async ({ container }) => {
        const filter = { key: input.flag('actor') ?? null, limit: MAX_LISTED }
        const rows = await listDeadLetters(container.sql, filter)
        return {
          json: { deadLetters: rows },
          lines: table(
            rows,
            {
              actor: (row) => row.key,
              number: (row) => row.seq,
              type: (row) => row.type,
              attempts: (row) => row.attempts,
              'dead since': (row) => row.deadSince,
              error: (row) => row.lastError,
            },
            'no dead letters',
          ),
        }
      })
    },
  },
  {
    name: 'dead-letter retry',
    args: ['actor', 'number'],
    summary: 'Put a dead letter back into its mailbox',
    flags: {},
    run: (input) => onMessage(input, 'retryDeadLetter', 'retried'),
  },
  {
    name: 'dead-letter skip',
    args: ['actor', 'number'],
    summary: 'Drop a dead letter, or a waiting message that keeps failing, for good',
    flags: {},
    run: (input) => onMessage(input, 'skipMessage', 'skipped'),
  },
]

const waiting: Command = {
  name: 'actor list',
  args: [],
  summary: 'List actors with waiting messages, longest wait first',
  flags: {},
  async run(input) {
    const { listActors, withServices } = await load()
    return withServices(input, async ({ container }) => {
      const rows = await listActors(container.sql, MAX_LISTED)
      return {
        json: { actors: rows },
        lines: table(
          rows,
          {
            actor: (row) => row.key,
            waiting: (row) => row.waiting,
            'due for': (row) => `${Math.round(row.headDueSeconds)} s`,
            head: (row) => `${row.headType} ${row.headSeq}`,
            attempts: (row) => row.headAttempts,
            error: (row) => row.headError,
          },
          'no messages waiting',
        ),
      }
    })
  },
}

export const actorCommands: readonly Command[] = [...deadLetters, waiting]
