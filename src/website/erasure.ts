/** Erases an e-mail address from the website's submissions, for the operator of the service. */

import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteActors } from '../actors/mailbox.ts'
import type { Deps } from '../container.ts'
import { formMessages } from '../messages/form.ts'
import { transaction } from '../platform/db/transaction.ts'
import { mailIds } from './mails.ts'
import { deleteSubmissions } from './store.ts'

export interface ErasedSubmissions {
  readonly submissions: number
  /** Mail files in `DATA_DIR/mail`. Mail that was sent over SMTP cannot be erased. */
  readonly mails: number
}

/** Deletes every submission with this address (case-insensitively), its unsent mails and its mail files. */
export async function eraseSubmissions(
  { sql, config }: Pick<Deps, 'sql' | 'config'>,
  email: string,
): Promise<ErasedSubmissions> {
  const ids = await transaction(sql, async (tx) => {
    const deleted = await deleteSubmissions(tx, email.trim())
    await deleteActors(
      tx,
      deleted.map((id) => formMessages.key(id)),
    )
    return deleted
  })
  const files = ids.flatMap(mailIds).map((id) => join(config.dataDir, 'mail', `${id}.eml`))
  const removed = await Promise.all(files.map(removeFile))
  return { submissions: ids.length, mails: removed.filter(Boolean).length }
}

async function removeFile(path: string): Promise<boolean> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  )
  await rm(path, { force: true })
  return exists
}
