/** Mail servers that take no mail of the service. */
import { readFile } from 'node:fs/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createAuthority } from '../../support/authority.ts'
import type { SetUp, Undo } from './set-up.ts'

const FROM = { MAIL_FROM: 'earshot@example.com', SMTP_ALLOW_PLAIN: 'true' }
const refusal = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode })

/** @returns its port */
export async function startMailServer(
  undo: (work: Undo) => void,
  options: SMTPServerOptions,
): Promise<number> {
  const server = new SMTPServer({
    logger: false,
    authOptional: true,
    allowInsecureAuth: true,
    closeTimeout: 100,
    disabledCommands: ['STARTTLS'],
    onAuth({ username, password }, _, done) {
      if (password === 'right') done(null, { user: username ?? '' })
      else done(refusal(535, 'Bad credentials'))
    },
    ...options,
  })
  server.on('error', () => {})
  const { promise, resolve } = Promise.withResolvers<void>()
  const listening = server.listen(0, '127.0.0.1', resolve)
  undo(() => server.close())
  await promise
  const address = listening.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** `url`: of the port. */
function ofServer(name: string, options: SMTPServerOptions, url: (port: number) => string): SetUp {
  return {
    name,
    check: 'mail',
    args: ['--mail', 'ada@example.com'],
    begin: async (undo) => ({ ...FROM, SMTP_URL: url(await startMailServer(undo, options)) }),
  }
}

export const brokenMail: readonly SetUp[] = [
  {
    name: 'Nothing listens at the host and port of `SMTP_URL`',
    check: 'mail',
    begin: async () => ({ ...FROM, SMTP_URL: 'smtp://127.0.0.1:1' }),
  },
  {
    name: 'The mail server offers no STARTTLS, but `SMTP_URL` has a password',
    check: 'mail',
    begin: async (undo) => ({
      ...FROM,
      SMTP_ALLOW_PLAIN: 'false',
      SMTP_URL: `smtp://ada:right@127.0.0.1:${await startMailServer(undo, {})}`,
    }),
  },
  ofServer(
    'The mail server offers no AUTH, but `SMTP_URL` has a password',
    { disabledCommands: ['STARTTLS', 'AUTH'] },
    (port) => `smtp://ada:right@127.0.0.1:${port}`,
  ),
  ofServer('The password of `SMTP_URL` is wrong', {}, (port) => `smtp://ada:wrong@127.0.0.1:${port}`),
  ofServer(
    '`SMTP_URL` begins with `smtps://`, but the port with plain text',
    {},
    (port) => `smtps://127.0.0.1:${port}`,
  ),
  {
    name: 'The certificate of the mail server is of an unknown authority',
    check: 'mail',
    async begin(undo) {
      const authority = await createAuthority()
      undo(() => authority.remove())
      const { key, cert } = await authority.issue('localhost')
      const options = { key: await readFile(key), cert: await readFile(cert), secure: true }
      return { ...FROM, SMTP_URL: `smtps://localhost:${await startMailServer(undo, options)}` }
    },
  },
  ofServer(
    'The mail server refuses `MAIL_FROM` (`--mail ada@example.com`)',
    { onMailFrom: (_, __, done) => done(refusal(550, 'Not yours')) },
    (port) => `smtp://127.0.0.1:${port}`,
  ),
  ofServer(
    'The mail server refuses the recipient (`--mail ada@example.com`)',
    { onRcptTo: (_, __, done) => done(refusal(550, 'No such mailbox')) },
    (port) => `smtp://127.0.0.1:${port}`,
  ),
]
