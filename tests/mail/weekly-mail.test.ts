/** The weekly mail, from the setting over HTTP to a real SMTP server, and the link that ends it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { nextMailAt, weekOf } from '../../src/tell/weekly-mail/schedule.rules.ts'
import { sendDue } from '../../src/tell/weekly-mail/service.ts'
import { QUICK } from '../support/actors.ts'
import { insertSession, insertSignal } from '../support/agents-http.ts'
import { eventually } from '../support/eventually.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { type Delivered, type SmtpSink, startSmtpSink } from '../support/smtp.ts'

const ME = '/v3/rest/members/me'
const BASE = 'https://ears.example/app'

let smtp: SmtpSink
let server: TestServer
let tenant: TestTenant
let ada: { userId: string; client: Client }
let bob: { userId: string; client: Client }

beforeAll(async () => {
  smtp = await startSmtpSink()
  const env = { MAIL_FROM: 'Earshot <earshot@mail.example>', SMTP_URL: smtp.url, PUBLIC_BASE_URL: BASE }
  server = await startTestServer({ env, actors: QUICK })
  tenant = await server.createTenant('Acme\r\nBcc: evil@example.com')
  const { organizationId } = tenant
  const user = async () => {
    const { userId, userToken } = await server.createUser(organizationId, 'viewer')
    return { userId, client: server.as({ userToken }) }
  }
  ada = await user()
  bob = await user()
  const { sql } = server.database
  const at = new Date(Date.parse(weekOf(new Date(), 'UTC').since) + 3_600_000).toISOString()
  for (const agentKey of ['open', 'restricted']) {
    const settings =
      agentKey === 'open'
        ? {}
        : { conversationAccess: { type: 'restricted' as const, userIds: [bob.userId] } }
    const { applicationId } = await server.createApplication(organizationId, { agentKey, settings })
    const sessionId = await insertSession(sql, organizationId, applicationId, { created_at: at })
    for (let n = 0; n < 3; n++)
      await insertSignal(
        sql,
        { organizationId, applicationId, sessionId },
        {
          occurred_at: at,
          kind: agentKey === 'open' ? 'wrong_answer' : 'churn_risk',
          comment: `<b>${agentKey}</b>\nremark`,
        },
      )
  }
}, 300_000)
beforeEach(() => {
  smtp.busy = false
  ;(smtp.delivered as Delivered[]).length = 0
})
afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
})

const set = async (client: Client, weeklyMail: boolean) => {
  const { status, body } = await client.patch(ME, { weeklyMail })
  expect([status, body.weeklyMail]).toEqual([200, weeklyMail])
}
const makeDue = (userId: string) => server.database.sql`
  update weekly_mail set next_at = now() - interval '1 minute' where user_id = ${userId}`
const idle = () =>
  eventually(async () => (await server.database.sql`select 1 from actor_message limit 1`).length === 0)
const addressOf = async (client: Client): Promise<string> => (await client.get(ME)).body.email
const mailsTo = async (client: Client) => {
  const address = await addressOf(client)
  return smtp.delivered.filter(({ to }) => to.includes(address))
}
/** What arrives on one Monday. */
async function monday(userId: string, client: Client): Promise<readonly Delivered[]> {
  await makeDue(userId)
  await sendDue(server.deps)
  await idle()
  return mailsTo(client)
}
const linkOf = (mail: Delivered | undefined) =>
  new URL(
    /^<(.*)>$/.exec(mail?.mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '')?.[1] ?? '',
  )
const here = (link: URL) => `${server.baseUrl}/unsubscribe${link.search}`

describe('the weekly mail', () => {
  test('is off until a member wants it', async () => {
    expect((await ada.client.get(ME)).body).toMatchObject({
      id: ada.userId,
      role: 'viewer',
      weeklyMail: false,
    })
    expect(await monday(ada.userId, ada.client)).toEqual([])
    await set(ada.client, true)
    await set(ada.client, true)
    expect((await ada.client.get(ME)).body.weeklyMail).toBe(true)
    expect((await bob.client.get(ME)).body.weeklyMail).toBe(false)
    await set(ada.client, false)
    expect(await monday(ada.userId, ada.client)).toEqual([])
  })

  test('says what grew, with quotations and links, as text and as HTML', async () => {
    await set(ada.client, true)
    const mails = await monday(ada.userId, ada.client)
    expect(mails).toHaveLength(1)
    const { mail, from, source } = mails[0] as Delivered
    const { since, until } = weekOf(new Date(), 'UTC')
    const last = new Date(Date.parse(until) - 1).toISOString().slice(0, 10)
    expect(from).toBe('earshot@mail.example')
    expect(mail.subject).toBe(`What customers of Acme Bcc: evil@example.com said, ${since} to ${last}`)
    expect(source).not.toMatch(/^Bcc:/im)
    expect(mail.text).toContain('- Conversations: 1 (week before: 0)')
    expect(mail.text).toContain('- wrong answer: 3 (week before: 0)')
    expect(mail.text).toContain('"<b>open</b> remark"')
    expect(mail.text).toContain(`${BASE}/v3/rest/agent-conversations/sessions/`)
    expect(mail.html).toContain('&lt;b&gt;open&lt;/b&gt; remark')
    expect(mail.html).not.toContain('<b>')
    expect(mail.text).toContain(String(linkOf(mails[0])))
    // The other application is not Ada's to see.
    expect(source).not.toContain('restricted')
    expect(source).not.toContain('churn')
  })

  test('holds what the member may see', async () => {
    await set(bob.client, true)
    const [sent] = await monday(bob.userId, bob.client)
    expect(sent?.mail.text).toContain('churn risk: 3')
    expect(sent?.mail.text).toContain('"<b>restricted</b> remark"')
    await set(bob.client, false)
  })

  test('is sent once a week, however many processes look for it and whatever they survive', async () => {
    await set(ada.client, true)
    await makeDue(ada.userId)
    smtp.busy = true
    const taken = await Promise.all(Array.from({ length: 8 }, () => sendDue(server.deps)))
    expect(taken.reduce((sum, count) => sum + count, 0)).toBe(1)
    await eventually(async () => {
      const rows = await server.database.sql`select 1 from actor_message where attempts > 0`
      return rows.length > 0
    })
    smtp.busy = false
    await idle()
    expect(await sendDue(server.deps)).toBe(0)
    const mails = await mailsTo(ada.client)
    expect(new Set(mails.map(({ mail }) => mail.messageId)).size).toBe(1)
    expect(mails).toHaveLength(1)
    const [row] = await server.database.sql<{ nextAt: Date }[]>`
      select next_at as "nextAt" from weekly_mail where user_id = ${ada.userId}`
    expect(row?.nextAt).toEqual(nextMailAt(new Date(), 'UTC'))
  })

  test('is taken and sent in one transaction: a process that dies in between loses nothing', async () => {
    await set(ada.client, true)
    await makeDue(ada.userId)
    const broken = {
      ...server.deps,
      notifier: server.deps.notifier,
      sql: new Proxy(server.deps.sql, {
        get: (target, name) =>
          name === 'begin'
            ? (...args: unknown[]) =>
                Reflect.apply(Reflect.get(target, 'begin') as never, target, [
                  ...args.slice(0, -1),
                  async (tx: unknown) => {
                    await (args.at(-1) as (tx: unknown) => Promise<unknown>)(tx)
                    throw new Error('the process dies before COMMIT')
                  },
                ])
            : Reflect.get(target, name),
      }),
    }
    expect(await sendDue(broken).then(String, ({ message }: Error) => message)).toContain(
      'dies before COMMIT',
    )
    expect(await mailsTo(ada.client)).toEqual([])
    expect(await sendDue(server.deps)).toBe(1)
    await idle()
    expect(await mailsTo(ada.client)).toHaveLength(1)
  })

  test('is left out in a week in which nothing was said', async () => {
    const other = await server.createTenant()
    const client = server.as({ userToken: other.userToken })
    await set(client, true)
    expect(await monday(other.userId, client)).toEqual([])
  })

  test('ends with the membership', async () => {
    const { userId, userToken } = await server.createUser(tenant.organizationId, 'viewer')
    await set(server.as({ userToken }), true)
    await server.as({ apiKey: tenant.apiKey }).delete(`/v3/rest/members/${userId}`)
    const rows = await server.database.sql`select 1 from weekly_mail where user_id = ${userId}`
    expect(rows).toHaveLength(0)
  })

  test.each(['its setting', 'the membership'])('leaves no mailbox when it ends with %s', async (how) => {
    const { sql } = server.database
    const { userId, userToken } = await server.createUser(tenant.organizationId, 'viewer')
    await set(server.as({ userToken }), true)
    const [mail] = await sql<{ id: string }[]>`select id from weekly_mail where user_id = ${userId}`
    await makeDue(userId)
    await sendDue(server.deps)
    const mailboxes = () => sql`select from actor_mailbox where key = ${`weekly_mail:${mail?.id}`}`
    expect(await mailboxes()).toHaveLength(1)
    await idle()
    if (how === 'its setting') await set(server.as({ userToken }), false)
    else await server.as({ apiKey: tenant.apiKey }).delete(`/v3/rest/members/${userId}`)
    expect(await mailboxes()).toHaveLength(0)
  })

  test('needs PUBLIC_BASE_URL', async () => {
    const plain = await startTestServer()
    try {
      const client = plain.as({ userToken: (await plain.createTenant()).userToken })
      const { status, body } = await client.patch(ME, { weeklyMail: true })
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'unavailable' })
    } finally {
      await plain.stop()
    }
  })
})

describe('the link in a weekly mail', () => {
  test('asks before it ends the mail, without a sign-in', async () => {
    await set(ada.client, true)
    const [sent] = await monday(ada.userId, ada.client)
    const link = linkOf(sent)
    expect(`${link.origin}${link.pathname}`).toBe(`${BASE}/unsubscribe`)
    const asked = await fetch(here(link))
    expect(asked.status).toBe(200)
    expect(await asked.text()).toContain(`<form method="post" action="/app/unsubscribe${link.search}">`)
    expect((await ada.client.get(ME)).body.weeklyMail).toBe(true)
  })

  test('ends the mail in one click of a mail program (RFC 8058)', async () => {
    await set(ada.client, true)
    const [sent] = await monday(ada.userId, ada.client)
    const post = sent?.mail.headers.find(({ key }) => key === 'list-unsubscribe-post')?.value
    expect(post).toBe('List-Unsubscribe=One-Click')
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    for (let again = 0; again < 2; again++) {
      const ended = await fetch(here(linkOf(sent)), { method: 'POST', body, redirect: 'manual' })
      expect(ended.status).toBe(200)
    }
    expect((await ada.client.get(ME)).body.weeklyMail).toBe(false)
    // A later wish has another link.
    await set(ada.client, true)
    await fetch(here(linkOf(sent)), { method: 'POST', body })
    expect((await ada.client.get(ME)).body.weeklyMail).toBe(true)
    await set(ada.client, false)
  })

  test.each(['', '?token=', `?token=${'a'.repeat(140)}`])('%j ends nothing', async (search) => {
    for (const method of ['GET', 'POST'])
      expect((await fetch(`${server.baseUrl}/unsubscribe${search}`, { method })).status).toBe(404)
  })
})
