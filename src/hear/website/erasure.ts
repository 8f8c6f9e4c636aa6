/** Erases an e-mail address from the website's submissions, for the operator of the service. */

import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteActors } from '../../actors/mailbox.ts'
import { type RunningTurn, runningTurns, stillRunning } from '../../actors/running-turns.ts'
import { NO_ORGANIZATION } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { confirmationMessages, formMessages } from '../../kernel/messages/form.ts'
import { countOpen, openTransactions } from '../../platform/db/open-transactions.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { accountAddress } from '../../platform/validation/user-address.ts'
import { mailIds } from './mails.ts'
import { deleteSubmissions } from './store.ts'

export interface ErasedSubmissions {
  readonly submissions: number
  /** Mail files in `DATA_DIR/mail`. Mail that was sent over SMTP cannot be erased. */
  readonly mails: number
}

type ErasureDeps = Pick<Deps, 'sql' | 'config' | 'clock'>

/**
 * Deletes every submission with this address (case-insensitively), its unsent mails and its mail files. A submission that is being stored
 * is awaited, and so is a mail that is being written.
 */
export async function eraseSubmissions(deps: ErasureDeps, email: string): Promise<ErasedSubmissions> {
  const { sql, config } = deps
  const ids: string[] = []
  for (let isAgain = false; ; isAgain = true) {
    const deleted = await transaction(sql, (tx) =>
      deleteSubmissions(tx, accountAddress(email) ?? email.trim()),
    )
    ids.push(...deleted)
    if (isAgain && deleted.length === 0) break
    await othersEnded(deps, ids)
  }
  await transaction(sql, (tx) => deleteActors(tx, ids.flatMap(actorsOf)))
  const files = ids.flatMap(mailIds).map((id) => join(config.dataDir, 'mail', `${id}.eml`))
  const removed = await Promise.all(files.map(removeFile))
  return { submissions: ids.length, mails: removed.filter(Boolean).length }
}

const actorsOf = (id: string) => [formMessages.key(id), confirmationMessages.key(id)]

const PAUSE_MS = 50
/** A transaction that has not written in this time stores no submission. A backup is one that only reads. */
const LONGEST_READ_MS = 60_000

/** Waits for the transactions and for the mails of these submissions that have begun. */
async function othersEnded({ sql, clock }: ErasureDeps, ids: readonly string[]): Promise<void> {
  const since = clock.now().getTime()
  const mine = new Set<string>(ids.flatMap(actorsOf))
  const transactions = await openTransactions(sql)
  let turns: readonly RunningTurn[] = (await runningTurns(sql, NO_ORGANIZATION, null)).filter(([key]) =>
    mine.has(key),
  )
  for (;;) {
    const { open, writing } = await countOpen(sql, transactions)
    turns = await stillRunning(sql, turns)
    const waitedMs = clock.now().getTime() - since
    if (writing === 0 && turns.length === 0 && (open === 0 || waitedMs >= LONGEST_READ_MS)) return
    await Bun.sleep(PAUSE_MS)
  }
}

async function removeFile(path: string): Promise<boolean> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  )
  await rm(path, { force: true })
  return exists
}
