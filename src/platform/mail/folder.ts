/**
 * Writes mail as `.eml` files, which any mail program opens. Used if no SMTP server is configured.
 *
 * A file is named after its message and appears as a whole, so sending again replaces it.
 */
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ensurePrivateFolder } from '../secrets/private-folder.ts'
import { isErrno } from '../storage/folder-files.ts'
import { assertFolderWritable } from '../storage/writable.ts'
import { compose, type Mail, type Mailer, type Sender } from './mail.ts'

/** Only the user of the service may read mail, which contains personal data. */
const FILE_MODE = 0o600

const suffixOf = (owner: string) => `.of-${owner}`
const SUFFIX = /\.of-[^.]+(?=\.eml)/

/** Removes the files of mails of these owners, also unfinished ones. Mail that was sent over SMTP cannot be removed. */
export async function removeMailsOf(folder: string, owners: readonly string[]): Promise<void> {
  const suffixes = new Set(owners.map(suffixOf))
  const names = await readdir(folder).catch((error: unknown) => {
    // No mail was written yet.
    if (isErrno(error, ['ENOENT'])) return []
    throw error
  })
  const theirs = names.filter((name) => suffixes.has(SUFFIX.exec(name)?.[0] ?? ''))
  for (const name of theirs) await rm(join(folder, name), { force: true })
}

/** The folder is created with the first mail, for the user of the service only. */
export function createFolderMailer(folder: string, sender: Sender): Mailer {
  return {
    name: 'folder',
    async send(mail: Mail, signal: AbortSignal) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await transport.sendMail(compose(mail, sender))
      if (!Buffer.isBuffer(message)) throw new Error('the message was not composed in memory')
      signal.throwIfAborted()
      await ensurePrivateFolder(folder)
      const file = join(folder, `${mail.id}${mail.owner === undefined ? '' : suffixOf(mail.owner)}.eml`)
      const unfinished = `${file}.${crypto.randomUUID()}`
      await writeFile(unfinished, message, { mode: FILE_MODE })
      await rename(unfinished, file)
    },
    assertUsable: () => assertFolderWritable(folder),
  }
}
