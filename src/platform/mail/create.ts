/** Creates the mailer: SMTP if `SMTP_URL` is set, else files in `DATA_DIR/mail`. */
import { join } from 'node:path'
import type { Config } from '../../app/config.ts'
import { createFolderMailer, removeMailsOf } from './folder.ts'
import type { Mailer } from './mail.ts'
import { createSmtpMailer } from './smtp.ts'

/** Removes the mails of these organizations and users that were written into files. */
export const forgetMails = (dataDir: string, owners: readonly string[]): Promise<void> =>
  removeMailsOf(join(dataDir, 'mail'), owners)

/** Connects to nothing: the first mail does. */
export function createMailer({ dataDir, mail }: Pick<Config, 'dataDir' | 'mail'>): Mailer {
  if (mail.smtpUrl !== null) {
    const { smtpUrl: url, smtpAllowPlain: allowPlain } = mail
    return createSmtpMailer({ url, allowPlain }, mail.from)
  }
  return createFolderMailer(join(dataDir, 'mail'), mail.from)
}
