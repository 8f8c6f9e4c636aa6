/** A real SMTP server on the loopback interface that keeps what it receives. An independent parser reads the mail. */
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface Delivered {
  readonly from: string
  readonly to: readonly string[]
  readonly mail: Email
  /** The mail as received. */
  readonly source: string
}

export interface SmtpSink {
  /** `smtp://127.0.0.1:port`. A restart does not change it. */
  readonly url: string
  readonly delivered: readonly Delivered[]
  /** Refuses these recipients permanently (550). */
  readonly unknown: Set<string>
  /** Refuses these recipients temporarily (450). */
  readonly full: Set<string>
  /** Refuses messages permanently (554) after they were sent, if they contain this. */
  spam: string | null
  /** While true, refuses every message temporarily (451) after it was sent. */
  busy: boolean
  /** Ends the server. Connections are refused. */
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startSmtpSink(): Promise<SmtpSink> {
  const delivered: Delivered[] = []
  let server: SMTPServer | null = null
  let port = 0
  const sink: SmtpSink = {
    get url() {
      return `smtp://127.0.0.1:${port}`
    },
    delivered,
    unknown: new Set(),
    full: new Set(),
    spam: null,
    busy: false,
    async start() {
      server = createServer(sink, delivered)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.on('error', reject)
      const listening = server.listen(port, '127.0.0.1', resolve)
      await promise
      const address = listening.address()
      if (typeof address === 'object' && address !== null) port = address.port
    },
    async stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (server === null) return
      server.close(resolve)
      server = null
      await promise
    },
  }
  await sink.start()
  return sink
}

function createServer(sink: SmtpSink, delivered: Delivered[]): SMTPServer {
  return new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    closeTimeout: 1_000,
    onRcptTo({ address }, _, done) {
      if (sink.unknown.has(address)) done(reply(550, 'no such mailbox'))
      else if (sink.full.has(address)) done(reply(450, 'mailbox full'))
      else done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        if (sink.busy) return done(reply(451, 'try again later'))
        const source = Buffer.concat(chunks)
        if (sink.spam !== null && source.includes(sink.spam)) return done(reply(554, 'looks like spam'))
        const { mailFrom, rcptTo } = session.envelope
        delivered.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          mail: await PostalMime.parse(source),
          source: source.toString(),
        })
        done()
      })
    },
  })
}

function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode })
}
