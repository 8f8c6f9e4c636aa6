/**
 * A turn for practice: what a worker does for one message, in the caller's transaction, which is to be rolled back. It leaves behind
 * a connection whose statements are parsed and planned as turns have them, and code that has run.
 */
import type { Tx } from '../platform/db/pool.ts'
import { claimAndRead } from './head.ts'
import { DEFAULT_OPTIONS } from './options.ts'
import { remove, settle } from './statements.ts'
import { limitStatements, sendAll } from './turn.ts'
import type { ActorKey, Letter, Message, Send } from './types.ts'

const WORKER = 'warm-up'

/**
 * Takes the first message of `key`, which was sent in the same transaction, and hands it to `handle`.
 * @throws Error where there is none
 */
export async function practiseTurn(
  tx: Tx,
  key: ActorKey,
  handle: (message: Message, send: Send) => Promise<unknown>,
): Promise<void> {
  const { batchMessages, batchPatienceMs } = DEFAULT_OPTIONS
  const [claimed] = await claimAndRead(tx, WORKER, [key], batchMessages)
  const message = claimed?.mailbox?.due[0]
  if (claimed == null || message === undefined) throw new Error(`no message for ${key}`)
  limitStatements(tx, { options: DEFAULT_OPTIONS }, batchPatienceMs)
  const letters: Letter[] = []
  await handle(message, async (more) => void letters.push(...more))
  await Promise.all([
    sendAll(tx, letters),
    settle(tx, WORKER, [{ ...claimed, lastSeq: claimed.mailbox?.lastSeq ?? null }]),
    remove(tx, [message]),
  ])
}
