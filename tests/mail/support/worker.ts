/**
 * A worker process that hangs between sending a mail and committing that it was sent.
 *
 * Arguments: URL of the database, URL of the SMTP server. Says `sent` on standard output; a signal is the only way to
 * end it.
 */
import { loadConfig } from '../../../src/app/config.ts'
import { formActors } from '../../../src/hear/website/actor.ts'
import { createMailer } from '../../../src/platform/mail/create.ts'
import type { Mailer } from '../../../src/platform/mail/mail.ts'
import { CRASH_OPTIONS } from '../../crash/support/options.ts'
import { startWorker, testDeps } from '../../support/actors.ts'

const [database = '', smtp = ''] = process.argv.slice(2)

const config = loadConfig({
  SMTP_URL: smtp,
  MAIL_FROM: 'earshot@example.com',
  TEAM_EMAIL: 'team@example.com',
})
const mailer = createMailer(config)
const hanging: Mailer = {
  ...mailer,
  async send(mail, signal) {
    await mailer.send(mail, signal)
    process.stdout.write('sent\n')
    await new Promise(() => {})
  },
}

await startWorker(testDeps(database, null), formActors({ config }, hanging), CRASH_OPTIONS)
