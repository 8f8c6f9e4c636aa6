/** What waits in the mailboxes of actors, and what was given up. */
import { AppError } from '../../platform/errors.ts'
import { type Command, type Input, type Output, wholeNumber } from '../command.ts'
import { table } from '../output.ts'

const MAX_LISTED = 1_000

const load = async () => ({
  ...(await import('../services.ts')),
  ...(await import('../../actors/dead-letters.ts')),
})
type Loaded = Awaited<ReturnType<typeof load>>

/** Runs one of the operations on the message that the arguments name. */
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
    summary: 'List the messages that were given up, newest first',
    flags: { actor: { value: 'key', summary: 'of this actor only, such as session:<id>' } },
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
              parked: (row) => row.parkedAt,
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
    summary: 'Put a message that was given up back into its mailbox',
    flags: {},
    run: (input) => onMessage(input, 'retryDeadLetter', 'retried'),
  },
  {
    name: 'dead-letter skip',
    args: ['actor', 'number'],
    summary: 'Drop a message for good: one given up, or one that fails and still waits',
    flags: {},
    run: (input) => onMessage(input, 'skipMessage', 'skipped'),
  },
]

const waiting: Command = {
  name: 'actor list',
  args: [],
  summary: 'List the actors that have messages waiting, longest first',
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
