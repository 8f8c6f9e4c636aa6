/** Creates the mailer: SMTP if `SMTP_URL` is set, else files in `DATA_DIR/mail`. */
import { join } from 'node:path'
import { createFolderMailer, removeMailsOf } from './folder.ts'
import type { Mailer } from './mail.ts'
import { createSmtpMailer } from './smtp.ts'

export interface MailSettings {
  /** Mail is written into `mail` of this folder where there is no server. */
  readonly dataDir: string
  readonly mail: {
    /** null: mail is written into `dataDir/mail`. */
    readonly smtpUrl: string | null
    /** Send credentials to it over a connection that is not encrypted. */
    readonly smtpAllowPlain: boolean
    readonly from: { readonly name: string; readonly address: string }
  }
}

/** Removes the mails of these organizations and users that were written into files. */
export const forgetMails = (dataDir: string, owners: readonly string[]): Promise<void> =>
  removeMailsOf(join(dataDir, 'mail'), owners)

/** Connects to nothing: the first mail does. */
export function createMailer({ dataDir, mail }: MailSettings): Mailer {
  if (mail.smtpUrl !== null) {
    const { smtpUrl: url, smtpAllowPlain: allowPlain } = mail
    return createSmtpMailer({ url, allowPlain }, mail.from)
  }
  return createFolderMailer(join(dataDir, 'mail'), mail.from)
}
