/** Mail over SMTP, with a connection for each message. Mail is rare, and an idle connection would time out. */
import type { Transporter } from 'nodemailer'
import { NeedsOperator } from '../errors.ts'
import { certificateRemedy } from '../net/certificate.rules.ts'
import { compose, type Mailer, MailRefused, type Sender } from './mail.ts'

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 60_000 }

/** Options of the library that a URL must not change. */
const FIXED = ['requireTLS', 'forceAuth']

export interface SmtpOptions {
  /** `smtp://user:password@host:587` or `smtps://…:465`. */
  readonly url: string
  /** Lets a user name and a password go over a connection that is not encrypted. */
  readonly allowPlain: boolean
}

/** With credentials, mail goes only over an encrypted connection, and only to a server that accepts them. */
export function createSmtpMailer({ url: text, allowPlain }: SmtpOptions, sender: Sender): Mailer {
  const url = new URL(text)
  const hasCredentials = url.username !== '' || url.password !== ''
  for (const name of FIXED) url.searchParams.delete(name)
  const safety = hasCredentials ? { forceAuth: true, requireTLS: !allowPlain } : {}

  /** Runs `work` on a connection of its own. */
  async function connected(
    signal: AbortSignal,
    work: (transport: Transporter) => Promise<unknown>,
  ): Promise<void> {
    signal.throwIfAborted()
    // Loaded with the first mail, because only mail needs it.
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({ url: url.href, ...TIMEOUTS, ...safety })
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([work(transport), aborted])
    } catch (error) {
      throw failureOf(error)
    } finally {
      signal.removeEventListener('abort', abort)
      transport.close()
    }
  }

  return {
    name: 'smtp',
    send: (mail, signal) => connected(signal, (transport) => transport.sendMail(compose(mail, sender))),
    assertUsable: (signal) => connected(signal, (transport) => transport.verify()),
  }
}

/** What the library says about a failed command. */
interface SmtpFailure {
  readonly code?: unknown
  readonly command?: unknown
  readonly responseCode?: unknown
  readonly response?: unknown
  readonly message?: unknown
}

function failureOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error
  const failure: SmtpFailure = error
  if (isRefusal(failure)) return new MailRefused(String(failure.response), { cause: error })
  const reason = reasonOfSettings(failure)
  return reason === null ? error : new NeedsOperator(reason, { cause: error })
}

/** A permanent reply (RFC 5321 section 4.2.1) to the recipient or to the message, not to the login or to the sender: those an operator mends. */
function isRefusal({ code, command, responseCode }: SmtpFailure): boolean {
  if (!(Number(responseCode) >= 500)) return false
  return (code === 'EENVELOPE' && command === 'RCPT TO') || command === 'DATA'
}

/** Replies of a server that has no AUTH, or not on this connection (RFC 5321 section 4.2.2, RFC 4954 section 6). */
const NO_AUTH = new Set([500, 502, 503, 504, 538])

/** What is wrong with SMTP_URL or the server, with its remedy. Null if a retry may help. */
function reasonOfSettings({ code, command, responseCode, response, message }: SmtpFailure): string | null {
  const status = Number(responseCode)
  // A server without EHLO has no STARTTLS, either.
  if ((code === 'ETLS' && status >= 500) || (command === 'EHLO' && /STARTTLS/.test(String(message))))
    return 'The mail server does not offer STARTTLS, so the password in SMTP_URL is not sent. Use a port with TLS (smtps://), or set SMTP_ALLOW_PLAIN=true.'
  const remedy = certificateRemedy({ message })
  if (remedy !== null)
    return `The certificate of the mail server is not accepted (${String(message)}). ${remedy}`
  if (code !== 'EAUTH' || status < 500) return null
  if (NO_AUTH.has(status))
    return 'The mail server does not offer AUTH, but SMTP_URL has a user name and a password. Name the port for authenticated mail, or remove them from SMTP_URL.'
  return `The mail server refuses the user name or the password in SMTP_URL. Correct them. (${String(response)})`
}
