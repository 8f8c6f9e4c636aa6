/** The first way into a fresh service, as real processes: the link of the banner, the link of the command, and what the logs show of both. */

import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { resolve } from 'node:path'
import { EARSHOT } from '../support/executable.ts'
import { authorizePath, decide, newProof, postForm, REDIRECT, registered } from '../support/oauth-client.ts'
import { type Service, useServices } from '../support/process.ts'
import { createVisitor } from '../support/visitor.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
const LINK = /https?:\S+\/sign-in\/link\?token=(esl_[0-9A-Za-z]{43})/

describe('a fresh service', () => {
  const services = useServices()
  let service: Service
  let banner: string

  beforeAll(async () => {
    service = await services.start({ env: { LOG_LEVEL: 'debug' } })
    banner = service.output()
  })

  /** Runs a command beside the service. */
  async function command(...words: string[]): Promise<{ code: number; output: string }> {
    const child = Bun.spawn([...EARSHOT, ...words], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: services.folder,
        DATA_DIR: `${services.folder}/data`,
        PUBLIC_BASE_URL: service.baseUrl,
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { code: await child.exited, output: stdout + stderr }
  }

  test('prints a link that signs the demo user in, once', async () => {
    const [url = '', token = ''] = LINK.exec(banner) ?? []
    const visitor = createVisitor(service.baseUrl)
    expect((await visitor.get(new URL(url).pathname + new URL(url).search)).text).toContain(
      'demo@example.com',
    )
    await visitor.signIn(token)
    expect(JSON.parse((await visitor.get('/v3/rest/session')).text).user.email).toBe('demo@example.com')
    expect((await visitor.post('/sign-in/link', { token })).status).toBe(410)
  })

  test('prints another link by command, and refuses an unknown user', async () => {
    const { code, output } = await command('user', 'link', 'Demo@example.com', '--json')
    expect(code).toBe(0)
    const { url, email } = JSON.parse(output)
    expect(email).toBe('demo@example.com')
    expect(url).toStartWith(`${service.baseUrl}/sign-in/link?token=esl_`)
    await createVisitor(service.baseUrl).signIn(new URL(url).searchParams.get('token') ?? '')
    const unknown = await command('user', 'link', 'nobody@example.com')
    expect(unknown.code).toBe(1)
    expect(unknown.output).toContain('nobody@example.com')
  })

  test('prints a link without a name where there is one user', async () => {
    const { code, output } = await command('user', 'link', '--json')
    expect([code, JSON.parse(output).email]).toEqual([0, 'demo@example.com'])
    expect((await command('user', 'link', 'demo@example.com', 'another')).code).toBe(2)
  })

  test('says where a mail with a link is while there is no mail server', async () => {
    const visitor = createVisitor(service.baseUrl)
    const { text } = await visitor.post('/sign-in/mail', { email: 'demo@example.com' })
    expect(text).toContain('DATA_DIR')
  })

  test('shows no secret of a sign-in or of an OAuth client in its logs', async () => {
    const { output } = await command('user', 'link', 'demo@example.com', '--json')
    const token = new URL(JSON.parse(output).url).searchParams.get('token') ?? ''
    const visitor = createVisitor(service.baseUrl)
    await visitor.get(`/sign-in/link?token=${token}`)
    await visitor.signIn(token)
    const session = visitor.cookies.get('earshot-session') ?? ''
    const csrf = await visitor.csrfToken()
    const client_id = await registered(service.baseUrl)
    const { verifier, challenge } = newProof()
    const answer = await decide(visitor, service.baseUrl, authorizePath(client_id, challenge))
    const code = answer.searchParams.get('code') ?? ''
    const { body } = await postForm(service.baseUrl, '/oauth/token', {
      grant_type: 'authorization_code',
      redirect_uri: REDIRECT,
      client_id,
      code,
      code_verifier: verifier,
    })
    expect(body.access_token).toBeString()
    await visitor.post('/sign-in/link', { token })
    await visitor.post('/sign-in/mail', { email: 'demo@example.com' })
    const logs = service.output().slice(banner.length)
    expect(logs).toContain('/oauth/token')
    const secrets = { token, session, csrf, code, verifier, ...body }
    for (const [name, secret] of Object.entries(secrets))
      if (String(secret).length > 20) expect([name, logs.includes(String(secret))]).toEqual([name, false])
  })

  test('prints no link at the next start, when somebody may be signed in', async () => {
    expect(await service.kill()).toBe(0)
    const again = await services.start()
    expect(again.output()).not.toMatch(LINK)
    await again.kill()
  })
})
