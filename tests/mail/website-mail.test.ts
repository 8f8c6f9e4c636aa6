/** The mails of submissions, from the form over HTTP to a real SMTP server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { listDeadLetters, retryDeadLetter } from '../../src/actors/dead-letters.ts'
import { loadConfig } from '../../src/app/config.ts'
import { formActors } from '../../src/hear/website/actor.ts'
import { QUICK, startWorker, testDeps } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { type Delivered, type SmtpSink, startSmtpSink } from '../support/smtp.ts'
import { FORMS, submission } from '../support/website.ts'

const TEAM = 'team@example.com'
const SENDER = { MAIL_FROM: 'Earshot <earshot@mail.example>', TEAM_EMAIL: TEAM }
const CONFIRMED = [
  '/api/builder-waitlist',
  '/api/development-waitlist',
  '/api/mobile-reminder',
  '/api/manifesto-download',
]

let smtp: SmtpSink
let server: TestServer

beforeAll(async () => {
  smtp = await startSmtpSink()
  server = await startTestServer({ env: { ...SENDER, SMTP_URL: smtp.url }, actors: QUICK })
})
beforeEach(() => {
  smtp.busy = false
  smtp.unknown.clear()
  smtp.full.clear()
  smtp.spam = null
})
afterAll(async () => {
  await server.stop()
  await smtp.stop()
})

const post = async (path: string, body: unknown, on = server) => {
  const answer = await on.as('nobody').post(path, body)
  expect([answer.status, answer.body]).toEqual([200, { success: true }])
}
const idOf = async (email: string | undefined, on = server) => {
  const [row] = await on.database.sql<{ id: string }[]>`
    select id from form_submission where email = ${email ?? ''} order by received_at desc limit 1`
  return row?.id ?? ''
}
const about = (id: string) => smtp.delivered.filter(({ mail }) => mail.messageId?.includes(id))
const idle = (on = server) =>
  eventually(async () => (await on.database.sql`select 1 from actor_message limit 1`).length === 0)

describe.each(FORMS.map((form) => [form.path, form] as const))('%s', (path, form) => {
  test('tells the team, once, with every member', async () => {
    const body = submission([...form.required, ...form.optional])
    await post(path, body)
    const id = await idOf(body.email)
    await idle()
    const mails = about(id).filter(({ to }) => to.includes(TEAM))
    expect(mails).toHaveLength(1)
    const { from, to, mail } = mails[0] as Delivered
    expect([from, to]).toEqual(['earshot@mail.example', [TEAM]])
    expect(mail.from).toMatchObject({ name: 'Earshot', address: 'earshot@mail.example' })
    expect(mail.messageId).toBe(`<form-team.${id}@mail.example>`)
    expect(mail.replyTo).toMatchObject([{ address: body.email }])
    for (const value of Object.values(body)) {
      expect(mail.text).toContain(value)
      expect(mail.html).toContain(value)
    }
  })

  const confirmed = CONFIRMED.includes(path)
  test(confirmed ? 'confirms to the sender, once' : 'sends nothing to the sender', async () => {
    const body = submission([...form.required, ...form.optional])
    await post(path, body)
    await post(path, body)
    await idle()
    const mails = smtp.delivered.filter(({ to }) => to.includes(body.email ?? ''))
    expect(mails).toHaveLength(confirmed ? 1 : 0)
    for (const { mail } of mails) {
      expect(mail.messageId).toStartWith('<form-confirmation.')
      expect(mail.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
      // Nothing of the form: it may have been filled in by anybody.
      for (const [name, value] of Object.entries(body))
        if (name !== 'email')
          for (const part of [mail.text, mail.html, mail.subject]) expect(part).not.toContain(value)
    }
  })
})

test('a burst of downloads with one address causes one confirmation', async () => {
  const body = submission(['email'])
  await Promise.all(Array.from({ length: 10 }, () => post('/api/manifesto-download', body)))
  await idle()
  expect(smtp.delivered.filter(({ to }) => to.includes(body.email ?? ''))).toHaveLength(1)
})

describe('an address that is on a waitlist already', () => {
  test('causes no mail', async () => {
    const body = submission(['email', 'name'])
    await post('/api/builder-waitlist', body)
    await idle()
    const before = smtp.delivered.length
    await post('/api/builder-waitlist', { ...body, email: body.email?.toUpperCase() })
    await idle()
    expect(smtp.delivered.length).toBe(before)
  })
})

describe('what comes from a form', () => {
  const HOSTILE = 'Ann\r\nBcc: victim@example.com\r\n\r\n<img src=x onerror=alert(1)>{{footer}}$&'

  test('reaches no header', async () => {
    const body: Record<string, string> = { ...submission(['email', 'goal']), process: HOSTILE }
    await post('/api/csdemo', body)
    const id = await idOf(body.email)
    await idle()
    const [{ mail, to, source } = fail()] = about(id)
    expect(to).toEqual([TEAM])
    expect(mail.subject).toBe('New request for a demonstration')
    expect(mail.bcc ?? []).toEqual([])
    const head = source.slice(0, source.indexOf('\r\n\r\n'))
    expect(head).not.toContain('Ann')
    expect(head.match(/^[\w-]+(?=:)/gm)?.sort()).toEqual([
      'Auto-Submitted',
      'Content-Type',
      'Date',
      'From',
      'MIME-Version',
      'Message-ID',
      'Reply-To',
      'Subject',
      'To',
    ])
  })

  test('is escaped in the HTML and adds no line to the text', async () => {
    const body: Record<string, string> = { ...submission(['email']), goal: HOSTILE }
    await post('/api/csdemo', body)
    const id = await idOf(body.email)
    await idle()
    const [{ mail } = fail()] = about(id)
    expect(mail.html).toContain('&lt;img src=x onerror=alert(1)&gt;{{footer}}$&amp;')
    expect(mail.html).not.toContain('<img')
    expect(mail.text).toContain('\n    Bcc: victim@example.com\n')
  })

  test('is 400 if a name contains a line break', async () => {
    const body = { ...submission(['email', 'name']), name: HOSTILE }
    expect((await server.as('nobody').post('/api/builder-waitlist', body)).status).toBe(400)
  })
})

describe('the mail server', () => {
  test('gets everything once after an outage', async () => {
    await idle()
    await smtp.stop()
    const bodies = Array.from({ length: 5 }, () => submission(['email', 'name']))
    await Promise.all(bodies.map((body) => post('/api/builder-waitlist', body)))
    const ids = await Promise.all(bodies.map(({ email }) => idOf(email)))
    await eventually(async () => {
      const rows = await server.database.sql`
        select 1 from actor_message where attempts > 1 and last_error is not null`
      return rows.length >= bodies.length
    })
    expect(ids.flatMap(about)).toEqual([])
    await smtp.start()
    await idle()
    expect(ids.flatMap((id) => about(id).map(({ to }) => to[0] === TEAM)).sort()).toEqual([
      ...Array(5).fill(false),
      ...Array(5).fill(true),
    ])
  })

  test('that is busy gets a retry with the same Message-ID', async () => {
    smtp.busy = true
    const body = submission(['email'])
    await post('/api/csdemo', body)
    const id = await idOf(body.email)
    await eventually(async () => {
      const [row] = await server.database.sql<{ lastError: string }[]>`
        select last_error as "lastError" from actor_message where key = ${`form:${id}`} and attempts > 1`
      return row?.lastError.includes('try again later') ?? false
    })
    smtp.busy = false
    await idle()
    expect(about(id).map(({ mail }) => mail.messageId)).toEqual([`<form-team.${id}@mail.example>`])
  })

  test('that rejects the mailbox gets no retry, and the refusal is recorded', async () => {
    const body = submission(['email'])
    smtp.unknown.add(body.email ?? '')
    await post('/api/mobile-reminder', body)
    const id = await idOf(body.email)
    await idle()
    expect(about(id).map(({ to }) => to)).toEqual([[TEAM]])
    const [row] = await server.database.sql`
      select confirmation_refused from form_submission where id = ${id}`
    expect(row?.confirmation_refused).toContain('550')
    expect(await listDeadLetters(server.database.sql, { key: `confirmation:${id}` })).toEqual([])
  })

  test('that rejects the message gets no retry, and the refusal is recorded', async () => {
    const body = submission(['email'])
    smtp.spam = body.email ?? ''
    await post('/api/mobile-reminder', body)
    const id = await idOf(body.email)
    await idle()
    expect(about(id)).toEqual([])
    const [row] = await server.database.sql`
      select confirmation_refused from form_submission where id = ${id}`
    expect(row?.confirmation_refused).toContain('554')
    expect(await listDeadLetters(server.database.sql, { key: `form:${id}` })).toMatchObject([
      { type: 'notify_team', attempts: 1, lastError: expect.stringContaining('554') },
    ])
  })

  test('whose mailbox of the team is full does not hold the confirmation', async () => {
    smtp.full.add(TEAM)
    const body = submission(['email'])
    await post('/api/mobile-reminder', body)
    const id = await idOf(body.email)
    await eventually(() => about(id).some(({ to }) => to.includes(body.email ?? '')))
    expect(about(id)).toHaveLength(1)
    smtp.full.clear()
    await idle()
    expect(about(id).map(({ to }) => to[0])).toEqual([body.email, TEAM])
  })

  test('that takes nothing for the team: a dead letter at once, which can be sent again and holds up nothing', async () => {
    smtp.unknown.add(TEAM)
    const body = submission(['email'])
    await post('/api/mobile-reminder', body)
    const id = await idOf(body.email)
    const key = `form:${id}`
    await idle()
    const [newMessage] = await listDeadLetters(server.database.sql, { key })
    expect(newMessage).toMatchObject({ type: 'notify_team', attempts: 1 })
    expect(newMessage?.lastError).toContain('550')
    expect(about(id).map(({ to }) => to)).toEqual([[body.email as string]])
    smtp.unknown.clear()
    expect(await retryDeadLetter(server.deps, key, newMessage?.seq ?? 0)).toBe(true)
    await eventually(() => about(id).some(({ to }) => to.includes(TEAM)))
  })
})

describe('a worker that is killed between sending and committing', () => {
  test('sends at least once, with the same Message-ID', async () => {
    const away = await startTestServer({ env: { ...SENDER, SMTP_URL: smtp.url } })
    const program = new URL('support/worker.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, program, away.database.url, smtp.url], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    try {
      const body = submission(['email'])
      await post('/api/csdemo', body, away)
      const id = await idOf(body.email, away)
      const first = await child.stdout.getReader().read()
      expect(new TextDecoder().decode(first.value)).toBe('sent\n')
      child.kill('SIGKILL')
      await child.exited
      expect(about(id)).toHaveLength(1)
      const successor = await startSuccessor(away)
      await idle(away)
      await successor.close()
      const mails = about(id)
      expect(mails).toHaveLength(2)
      expect(new Set(mails.map(({ mail }) => mail.messageId)).size).toBe(1)
    } finally {
      child.kill('SIGKILL')
      await child.exited
      await away.stop()
    }
  })
})

/** A worker that does not hang, with the sender address of the one before. */
function startSuccessor(away: TestServer) {
  const config = loadConfig({ SMTP_URL: smtp.url, MAIL_FROM: 'earshot@example.com', TEAM_EMAIL: TEAM })
  return startWorker(testDeps(away.database.url, null), formActors({ config }))
}

describe('a submission and its mails', () => {
  test('are stored together or not at all', async () => {
    const away = await startTestServer({ env: { ...SENDER, SMTP_URL: smtp.url } })
    try {
      await away.database.sql`alter table actor_message rename to elsewhere`
      const answer = await away.as('nobody').post('/api/builder-waitlist', submission(['email', 'name']))
      expect(answer.status).toBe(500)
      expect((await away.database.sql`select 1 from form_submission`).length).toBe(0)
    } finally {
      await away.stop()
    }
  })

  test('without TEAM_EMAIL only the sender gets mail', async () => {
    const quiet = await startTestServer({
      env: { MAIL_FROM: 'earshot@mail.example', SMTP_URL: smtp.url },
      actors: QUICK,
    })
    try {
      const [contact, list] = [submission(FORMS[0]!.required), submission(['email', 'name'])]
      await post('/api/contact', contact, quiet)
      await post('/api/builder-waitlist', list, quiet)
      await idle(quiet)
      expect(about(await idOf(contact.email, quiet))).toEqual([])
      expect(about(await idOf(list.email, quiet)).map(({ to }) => to)).toEqual([[list.email as string]])
    } finally {
      await quiet.stop()
    }
  })
})

function fail(): never {
  throw new Error('no such mail')
}
