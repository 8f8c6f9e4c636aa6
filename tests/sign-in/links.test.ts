/** Links that sign in once, and the mails that carry them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { type SmtpSink, startSmtpSink } from '../support/smtp.ts'
import { createVisitor } from '../support/visitor.ts'

let smtp: SmtpSink
let server: TestServer
let tenant: TestTenant
let email: string

beforeAll(async () => {
  smtp = await startSmtpSink()
  const env = { SMTP_URL: smtp.url, MAIL_FROM: 'Earshot <earshot@mail.example>' }
  server = await startTestServer({ env, actors: QUICK })
  tenant = await server.createTenant()
  email = (await server.features.identity.findUserAnywhere(tenant.userId))?.email ?? ''
})
afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
})

const createLink = () => server.features.identity.createLink(tenant.userId)
const linkIn = (text: string | undefined) =>
  /https?:\S+\/sign-in\/link\?token=\S+/.exec(text ?? '')?.[0] ?? ''
const mailsTo = (address: string) => smtp.delivered.filter(({ to }) => to.includes(address))
const idle = () =>
  eventually(async () => (await server.database.sql`select 1 from actor_message limit 1`).length === 0)

describe('a link', () => {
  test('is not used by opening it: the page asks, and its form signs in', async () => {
    const visitor = createVisitor(server.baseUrl)
    const token = await createLink()
    for (let opened = 0; opened < 3; opened++) {
      const page = await visitor.get(`/sign-in/link?token=${token}&to=/docs`)
      expect([page.status, page.setCookies.length]).toEqual([200, 0])
      expect(page.text).toContain(email)
    }
    const used = await visitor.post('/sign-in/link', { token, to: '/docs' })
    expect([used.status, used.location]).toEqual([303, `${server.baseUrl}/docs`])
    expect((await visitor.get('/v3/rest/session')).status).toBe(200)
  })

  test('works once, also for parallel requests', async () => {
    const token = await createLink()
    const all = await Promise.all(
      Array.from({ length: 8 }, () => createVisitor(server.baseUrl).post('/sign-in/link', { token })),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([303, ...Array(7).fill(410)])
    expect((await createVisitor(server.baseUrl).get(`/sign-in/link?token=${token}`)).status).toBe(410)
  })

  test('ends after 15 minutes', async () => {
    const token = await createLink()
    const [row] = await server.database.sql<{ minutes: number }[]>`
      select extract(epoch from expires_at - now())::float / 60 as minutes
      from sign_in_link where user_id = ${tenant.userId} order by expires_at desc limit 1`
    expect(row?.minutes).toBeWithin(14.5, 15.1)
    await server.database.sql`update sign_in_link set expires_at = now() where user_id = ${tenant.userId}`
    const visitor = createVisitor(server.baseUrl)
    expect((await visitor.get(`/sign-in/link?token=${token}`)).status).toBe(410)
    expect((await visitor.post('/sign-in/link', { token })).status).toBe(410)
  })

  test.each(['', 'esl_', 'x', `esl_${'a'.repeat(43)}`, `esk_${'a'.repeat(43)}`])(
    'with the token %j is refused',
    async (token) => {
      const visitor = createVisitor(server.baseUrl)
      expect((await visitor.get(`/sign-in/link?token=${token}`)).status).toBe(410)
      expect((await visitor.post('/sign-in/link', { token })).status).toBe(410)
      expect(visitor.cookies.size).toBe(0)
    },
  )

  test('is stored only as a digest', async () => {
    const token = await createLink()
    const rows = await server.database.sql`select to_jsonb(l)::text as row from sign_in_link l`
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  test.each([
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['a page without an origin', { origin: 'null' }],
    ['a program', { origin: '' }],
  ])('sent by %s signs nobody in (login CSRF)', async (_, headers) => {
    const visitor = createVisitor(server.baseUrl)
    const token = await createLink()
    const { status, setCookies } = await visitor.post('/sign-in/link', { token }, headers)
    expect([status, setCookies]).toEqual([403, []])
    expect((await visitor.post('/sign-in/link', { token })).status).toBe(303)
  })

  test.each(['//evil.example', 'https://evil.example', '/\\evil.example', '/\t/evil.example'])(
    'does not lead to %j (open redirect)',
    async (to) => {
      const visitor = createVisitor(server.baseUrl)
      const { location } = await visitor.post('/sign-in/link', { token: await createLink(), to })
      expect(location).toBe(`${server.baseUrl}/sign-in`)
      const signedIn = await visitor.get(`/sign-in?to=${encodeURIComponent(to)}`)
      expect([signedIn.status, signedIn.location]).toEqual([200, null])
    },
  )
})

describe('a mail with a link', () => {
  test('goes to a user who asks for it, and its link signs in', async () => {
    const visitor = createVisitor(server.baseUrl)
    const asked = await visitor.post('/sign-in/mail', { email: email.toUpperCase(), to: '/docs' })
    expect(asked.status).toBe(200)
    await eventually(() => mailsTo(email).length === 1)
    const [{ mail }] = mailsTo(email) as [(typeof smtp.delivered)[number]]
    expect(linkIn(mail.text)).toStartWith(`${server.baseUrl}/sign-in/link?token=esl_`)
    expect(mail.html).toContain('/sign-in/link?token=')
    const page = await visitor.get(linkIn(mail.text))
    expect(page.text).toContain('name="to" value="/docs"')
    const token = new URL(linkIn(mail.text)).searchParams.get('token') ?? ''
    expect((await visitor.post('/sign-in/link', { token, to: '/docs' })).location).toBe(
      `${server.baseUrl}/docs`,
    )
  })

  test('leads another browser than the one that asked no further, and has no way in it', async () => {
    const stranger = createVisitor(server.baseUrl)
    const trap = '/oauth/authorize?client_id=https://evil.example/client&response_type=code'
    const { userId } = await server.createUser(tenant.organizationId)
    const address = (await server.features.identity.findUserAnywhere(userId))?.email ?? ''
    expect((await stranger.post('/sign-in/mail', { email: address, to: trap })).status).toBe(200)
    await eventually(() => mailsTo(address).length === 1)
    const link = linkIn(mailsTo(address)[0]?.mail.text)
    expect(new URL(link).searchParams.has('to')).toBe(false)
    const victim = createVisitor(server.baseUrl)
    const page = await victim.get(link)
    expect(page.text).toContain('name="to" value="/sign-in"')
    expect(page.text).not.toContain('oauth')
    expect((await stranger.get(link)).text).toContain('evil.example')
  })

  test('is not sent to an unknown address, and the answer is the same', async () => {
    const known = await createVisitor(server.baseUrl).post('/sign-in/mail', { email })
    const unknown = await createVisitor(server.baseUrl).post('/sign-in/mail', { email: 'nobody@example.com' })
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
    const shown = ({ headers }: typeof known) =>
      [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
    expect(shown(unknown)).toEqual(shown(known))
    await idle()
    expect(mailsTo('nobody@example.com')).toEqual([])
  })

  test('is sent to one address at most three times in 15 minutes', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const address = (await server.features.identity.findUserAnywhere(userId))?.email ?? ''
    for (let asked = 0; asked < 6; asked++)
      expect((await createVisitor(server.baseUrl).post('/sign-in/mail', { email: address })).status).toBe(200)
    await idle()
    expect(mailsTo(address)).toHaveLength(3)
  })

  test('reaches a person although a stranger asks for the address every four minutes', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const address = (await server.features.identity.findUserAnywhere(userId))?.email ?? ''
    for (let asked = 0; asked < 8; asked++) {
      await createVisitor(server.baseUrl).post('/sign-in/mail', { email: address })
      await idle()
      // Four minutes pass.
      await server.database.sql`
        update sign_in_request
        set created_at = created_at - interval '4 minutes', mailed_at = mailed_at - interval '4 minutes'
        where email = ${address}`
    }
    // Minutes 0, 4 and 8; not 12, when these three still count; 16, 20 and 24; not 28.
    expect(mailsTo(address)).toHaveLength(6)
  })

  test('does not count if its request led to none', async () => {
    const { id: organizationId } = await server.features.identity.createOrganization('later')
    const address = `later-${crypto.randomUUID()}@example.com`
    for (let asked = 0; asked < 4; asked++)
      await createVisitor(server.baseUrl).post('/sign-in/mail', { email: address })
    await idle()
    const user = { email: address, name: 'Later', role: 'viewer' as const }
    await server.features.identity.createUser(organizationId, user)
    await createVisitor(server.baseUrl).post('/sign-in/mail', { email: address })
    await idle()
    expect(mailsTo(address)).toHaveLength(1)
  })

  test.each(['', 'x', 'a@b', 'a@b.example\nbcc: c@d.example', `${'a'.repeat(300)}@example.com`])(
    'to %j is 400',
    async (address) => {
      const { status } = await createVisitor(server.baseUrl).post('/sign-in/mail', { email: address })
      expect(status).toBe(400)
    },
  )

  test('is limited by client address: 429 with Retry-After', async () => {
    const limited = await startTestServer({ env: { RATE_LIMIT_SIGN_IN: '2' }, beside: server })
    try {
      const answers = []
      for (let asked = 0; asked < 4; asked++)
        answers.push(await createVisitor(limited.baseUrl).post('/sign-in/mail', { email: 'a@example.com' }))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429])
      expect(Number(answers[3]?.headers.get('retry-after'))).toBeWithin(1, 61)
    } finally {
      await limited.stop()
    }
  })

  test('never carries an address that the request chose with its Host', async () => {
    const visitor = createVisitor(server.baseUrl)
    const before = smtp.delivered.length
    const headers = { host: 'evil.example', origin: 'http://evil.example' }
    expect((await visitor.post('/sign-in/mail', { email }, headers)).status).toBe(503)
    expect((await visitor.get('/sign-in', { host: 'evil.example' })).text).toContain('PUBLIC_BASE_URL')
    await idle()
    expect(
      smtp.delivered
        .slice(before)
        .map(({ source }) => source)
        .join(),
    ).not.toContain('evil.example')
  })
})
