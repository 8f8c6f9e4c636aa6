/** Whether mail can be sent, for `/ready` and for `earshot doctor`. */
import { cachedFor } from '../concurrency/cached.ts'
import { NeedsOperator } from '../errors.ts'
import { createMailer, type MailSettings } from './create.ts'
import { type Mail, MailRefused } from './mail.ts'

/** A mail server may refuse clients that connect all the time. */
const EVERY_MS = 60_000
const BUDGET_MS = 1_900

/**
 * Signs in to the mail server, and sends a mail if an address is given.
 * @throws NeedsOperator or another Error if mail cannot be sent
 */
export async function examineMail(
  config: MailSettings,
  to: string | null,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { smtpUrl } = config.mail
  const mailer = createMailer(config)
  try {
    await mailer.assertUsable(signal)
    if (to !== null) await mailer.send(mailTo(to), signal)
  } catch (error) {
    throw withRemedy(error)
  }
  const place = smtpUrl === null ? `files in ${config.dataDir}/mail` : `server ${new URL(smtpUrl).host}`
  return { ok: true, detail: to === null ? place : `${place}, which has the mail to ${to}` }
}

const TEXT = 'This mail was sent by earshot doctor. Mail of the service reaches you.'

const mailTo = (to: string): Mail => ({
  id: `doctor-${crypto.randomUUID()}`,
  to,
  subject: 'Mail from Earshot works',
  text: TEXT,
  html: `<p>${TEXT}</p>`,
})

/** Codes of the library for a server that is not there. */
const AWAY = ['EDNS', 'ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND']

/** What the mailer says of settings has its remedy already. */
function withRemedy(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NeedsOperator) return error
  const remedy = remedyOf(error)
  return remedy === null ? error : new NeedsOperator(`${remedy} (${error.message})`, { cause: error })
}

function remedyOf(error: Error & { readonly code?: unknown; readonly command?: unknown }): string | null {
  if (error instanceof MailRefused) return 'The mail server refuses the mail. Correct the address.'
  if (error.command === 'MAIL FROM') return 'The mail server refuses the sender. Correct MAIL_FROM.'
  if (/wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long/i.test(error.message))
    return 'The port in SMTP_URL does not begin with TLS. Write smtp:// instead of smtps://.'
  if (!AWAY.includes(String(error.code))) return null
  return 'The mail server cannot be reached. Start it, or correct the host and the port in SMTP_URL.'
}

/** A part of the service (see `platform/observability/degraded.ts`). The answer is up to a minute old. */
export function mailPart(config: MailSettings) {
  const mailer = createMailer(config)
  return {
    name: 'mail',
    effect: 'Mail cannot be sent and waits. Everything else works.',
    ask: cachedFor(EVERY_MS, () => mailer.assertUsable(AbortSignal.timeout(BUDGET_MS))),
  } as const
}
