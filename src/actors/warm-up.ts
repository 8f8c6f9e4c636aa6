/**
 * A warm-up turn: does a worker's work for one message in the caller's transaction, which the caller rolls back. Afterwards the
 * connection has parsed and planned the statements of turns, and the code has run once.
 */
import type { Tx } from '../platform/db/pool.ts'
import { claimAndRead } from './mailbox-reads.ts'
import { DEFAULT_OPTIONS } from './options.ts'
import { fenceAndRelease, remove } from './statements.ts'
import { limitStatements, sendAll } from './turn.ts'
import type { ActorKey, Message, NewMessage, Send } from './types.ts'

const WORKER = 'warm-up'

/**
 * Takes the first message of `key`, which was sent in the same transaction, and passes it to `handle`.
 * @throws Error if there is none
 */
export async function warmUpTurn(
  tx: Tx,
  key: ActorKey,
  handle: (message: Message, send: Send) => Promise<unknown>,
): Promise<void> {
  const { batchMessages, batchTimeoutMs } = DEFAULT_OPTIONS
  const [claimed] = await claimAndRead(tx, WORKER, [key], batchMessages)
  const message = claimed?.mailbox?.due[0]
  if (claimed == null || message === undefined) throw new Error(`no message for ${key}`)
  limitStatements(tx, { options: DEFAULT_OPTIONS }, batchTimeoutMs)
  const newMessages: NewMessage[] = []
  await handle(message, async (more) => void newMessages.push(...more))
  await Promise.all([
    sendAll(tx, newMessages),
    fenceAndRelease(tx, WORKER, [{ ...claimed, lastSeq: claimed.mailbox?.lastSeq ?? null }]),
    remove(tx, [message]),
  ])
}
