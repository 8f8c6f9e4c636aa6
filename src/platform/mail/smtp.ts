/** Mail over SMTP, with a connection for each message. Mail is rare, and an idle connection would time out. */
import { compose, type Mail, type Mailer, MailRefused, type Sender } from './mail.ts'

const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 60_000 }

/** `url`: `smtp://user:password@host:587` or `smtps://…:465`. */
export function createSmtpMailer(url: string, sender: Sender): Mailer {
  return {
    name: 'smtp',
    async send(mail: Mail, signal: AbortSignal) {
      signal.throwIfAborted()
      // Loaded with the first mail, because only mail needs it.
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ url, ...TIMEOUTS })
      const { promise: aborted, reject } = Promise.withResolvers<never>()
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      try {
        await Promise.race([transport.sendMail(compose(mail, sender)), aborted])
      } catch (error) {
        throw isRefusal(error) ? new MailRefused(String(error.response), { cause: error }) : error
      } finally {
        signal.removeEventListener('abort', abort)
        transport.close()
      }
    },
  }
}

/** A permanent reply (RFC 5321 section 4.2.1) to the recipient or to the message, not to the login or to the sender: those an operator mends. */
function isRefusal(error: unknown): error is { readonly response: unknown } {
  if (typeof error !== 'object' || error === null) return false
  const { code, command, responseCode } = error as Record<string, unknown>
  if (Number(responseCode) < 500) return false
  return (code === 'EENVELOPE' && command === 'RCPT TO') || command === 'DATA'
}
