/** Mail servers with and without TLS and AUTH, and how the service hands its password to them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

import { loadConfig } from '../../src/app/config.ts'
import { NeedsOperator } from '../../src/platform/errors.ts'
import { mailPart } from '../../src/platform/mail/examine.ts'
import { createSmtpMailer } from '../../src/platform/mail/smtp.ts'
import { createPart } from '../../src/platform/observability/degraded.ts'
import { type Authority, type Certificate, createAuthority } from '../support/authority.ts'
import { runCommand } from '../support/command-line.ts'
import { testServer } from '../support/database.ts'

const SENDER = { name: 'Earshot', address: 'earshot@example.com' }
const MAIL = { id: 'one', to: 'ada@example.com', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' }
const NO_STARTTLS =
  'The mail server does not offer STARTTLS, so the password in SMTP_URL is not sent. Use a port with TLS (smtps://), or set SMTP_ALLOW_PLAIN=true.'
const NO_AUTH =
  'The mail server does not offer AUTH, but SMTP_URL has a user name and a password. Name the port for authenticated mail, or remove them from SMTP_URL.'

let authority: Authority
let certificate: Certificate

beforeAll(async () => {
  authority = await createAuthority()
  certificate = await authority.issue('localhost')
})
afterAll(() => authority.remove())

/** A server, the passwords that it was given, and how many mails came. */
async function serve(options: SMTPServerOptions) {
  const seen = { passwords: [] as string[], mails: 0 }
  const server = new SMTPServer({
    logger: false,
    authOptional: true,
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth({ username, password }, _, done) {
      seen.passwords.push(password ?? '')
      if (password === 'right') done(null, { user: username ?? '' })
      else done(Object.assign(new Error('Bad credentials'), { responseCode: 535 }))
    },
    onData(stream, _, done) {
      stream.resume()
      stream.on('end', () => {
        seen.mails++
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  const { promise, resolve } = Promise.withResolvers<void>()
  const listening = server.listen(0, '127.0.0.1', resolve)
  await promise
  const address = listening.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { seen, port, [Symbol.dispose]: () => server.close() }
}

const PLAIN: SMTPServerOptions = { disabledCommands: ['STARTTLS'] }
const signal = AbortSignal.timeout(60_000)
const send = (url: string, allowPlain = false) =>
  createSmtpMailer({ url, allowPlain }, SENDER).send(MAIL, signal)

async function tls(): Promise<SMTPServerOptions> {
  return { key: await readFile(certificate.key), cert: await readFile(certificate.cert) }
}

describe('with a password', () => {
  test('a server without STARTTLS gets neither password nor mail', async () => {
    using server = await serve(PLAIN)
    const url = `smtp://ada:right@127.0.0.1:${server.port}`
    await expect(send(url)).rejects.toThrow(new NeedsOperator(NO_STARTTLS))
    // Options of the library in the URL do not change that.
    await expect(send(`${url}?requireTLS=false&ignoreTLS=true&opportunisticTLS=true`)).rejects.toThrow(
      NO_STARTTLS,
    )
    expect(server.seen).toEqual({ passwords: [], mails: 0 })
  })

  test('SMTP_ALLOW_PLAIN lets both go', async () => {
    using server = await serve(PLAIN)
    await send(`smtp://ada:right@127.0.0.1:${server.port}`, true)
    expect(server.seen).toEqual({ passwords: ['right'], mails: 1 })
  })

  test('a server without AUTH gets no mail', async () => {
    using plain = await serve({ disabledCommands: ['STARTTLS', 'AUTH'] })
    await expect(send(`smtp://ada:right@127.0.0.1:${plain.port}`, true)).rejects.toThrow(
      new NeedsOperator(NO_AUTH),
    )
    using encrypted = await serve({ ...(await tls()), secure: true, disabledCommands: ['AUTH'] })
    await expect(
      send(`smtps://ada:right@127.0.0.1:${encrypted.port}?tls.rejectUnauthorized=false`),
    ).rejects.toThrow(NO_AUTH)
    expect(plain.seen.mails + encrypted.seen.mails).toBe(0)
  })

  test('a wrong password waits for the operator', async () => {
    using server = await serve(await tls())
    const url = `smtp://ada:wrong@127.0.0.1:${server.port}?tls.rejectUnauthorized=false`
    await expect(send(url)).rejects.toThrow(
      'The mail server refuses the user name or the password in SMTP_URL. Correct them. (535 Bad credentials)',
    )
    await expect(send(url)).rejects.toBeInstanceOf(NeedsOperator)
  })

  test('STARTTLS and smtps encrypt both', async () => {
    using upgraded = await serve(await tls())
    await send(`smtp://ada:right@127.0.0.1:${upgraded.port}?tls.rejectUnauthorized=false`)
    using encrypted = await serve({ ...(await tls()), secure: true })
    await send(`smtps://ada:right@127.0.0.1:${encrypted.port}?tls.rejectUnauthorized=false`)
    expect([upgraded.seen, encrypted.seen]).toEqual(Array(2).fill({ passwords: ['right'], mails: 1 }))
  })

  test('a certificate of an unknown authority gets neither password nor mail', async () => {
    using server = await serve(await tls())
    await expect(send(`smtp://ada:right@127.0.0.1:${server.port}`)).rejects.toThrow(/NODE_EXTRA_CA_CERTS/)
    expect(server.seen).toEqual({ passwords: [], mails: 0 })
  })
})

test('without a password, mail goes without encryption', async () => {
  using server = await serve(PLAIN)
  await send(`smtp://127.0.0.1:${server.port}`)
  expect(server.seen.mails).toBe(1)
})

test('/ready and doctor say why mail waits', async () => {
  using server = await serve(PLAIN)
  const env = { SMTP_URL: `smtp://ada:right@127.0.0.1:${server.port}`, MAIL_FROM: 'earshot@example.com' }
  const part = createPart({
    ...mailPart(loadConfig(env)),
    budgetMs: 5_000,
    now: () => new Date(0),
    onFailure: () => {},
  })
  expect(await part.state()).toEqual({
    part: 'mail',
    since: new Date(0),
    effect: `Mail cannot be sent and waits. Everything else works. ${NO_STARTTLS}`,
  })
  const { out } = await runCommand(['doctor'], { ...env, DATABASE_URL: testServer('TEST_DATABASE_URL') })
  expect(out).toContain(`FAILED  mail: ${NO_STARTTLS}`)
  expect(server.seen.passwords).toEqual([])
})
