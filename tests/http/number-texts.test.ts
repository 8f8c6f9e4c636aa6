/** Numbers that a double cannot hold: stored and returned digit by digit where any value may stand, refused where an integer is asked. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let agentSecret: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  ;({ agentSecret } = await server.createApplication(tenant.organizationId))
})
afterAll(() => server.stop())

const NUMBERS = [
  '9007199254740993',
  '-123456789012345678901234567890',
  '0.1234567890123456789',
  '12345678901234567890.5',
]

/** Sends and returns text: the client of the tests would round the numbers. */
async function call(method: string, path: string, headers: Record<string, string>, body?: string) {
  const response = await fetch(`${server.baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, text: await response.text() }
}

test.each(NUMBERS)('a feedback record of %s', async (number) => {
  const key = { 'x-service-api-key': tenant.apiKey }
  const source = JSON.parse(
    (await call('POST', '/v3/rest/feedback-sources', key, JSON.stringify({ name: newId() }))).text,
  )
  const path = `/v3/rest/feedback-sources/${source.id}/records`
  const field = (type: string, value: string) =>
    `{"fields":[{"category":"metadata","type":"${type}","name":"n","value":${value}}]}`
  for (const [type, value] of [
    ['json', number],
    ['json', `{"a":[${number}]}`],
    ['float', number],
  ] as const) {
    const created = await call('POST', path, key, field(type, value))
    expect(created.status).toBe(201)
    const { id } = JSON.parse(created.text)
    expect((await call('GET', `${path}/${id}`, key)).text.replaceAll(/\s/g, '')).toContain(`"value":${value}`)
  }
  expect((await call('POST', path, key, field('integer', number))).status).toBe(400)
  expect((await call('POST', path, key, field('string', number))).status).toBe(400)
})

test.each(['', 'x'.repeat(600_000)])(
  'properties of a context, in a small body and in one that a thread reads',
  async (content) => {
    const agent = { 'x-service-agent-key': agentSecret }
    const session = newId()
    const properties = `{"a":${NUMBERS[0]},"b":[${NUMBERS[1]}],"c":"${NUMBERS[0]}"}`
    const event = (more: string) =>
      `{"externalEventId":"1","sequence":0,"revision":1,"occurredAt":"2026-01-01T00:00:00Z","type":"user_message","content":"Hi ${content.slice(0, 60_000)}","context":{"properties":${properties}}${more}}`
    const filler = content === '' ? '' : `,"ignored":"${content}"`
    const body = (more = '') =>
      `{"agentKey":"demo","externalSessionId":"${session}","context":{"properties":${properties}},"events":[${event(more)}]${filler}}`
    const path = '/v3/rest/agent-conversations/ingest'
    expect(await call('POST', path, agent, body())).toMatchObject({ status: 200 })
    const again = await call('POST', path, agent, body())
    expect([again.status, JSON.parse(again.text).duplicates ?? JSON.parse(again.text)]).toEqual([
      200,
      expect.anything(),
    ])
    const changed = await call('POST', path, agent, body().replaceAll(NUMBERS[0]!, '9007199254740992'))
    expect(changed.status).toBe(409)
    const key = { 'x-service-api-key': tenant.apiKey }
    const { data } = JSON.parse(
      (await call('GET', '/v3/rest/agent-conversations/sessions?limit=1', key)).text,
    )
    const read = await call(
      'GET',
      `/v3/rest/agent-conversations/sessions/${data[0].sessionId ?? data[0].id}`,
      key,
    )
    const found = read.text.replaceAll(/\s/g, '').split(`"properties":${properties}`)
    expect(found.length).toBe(3)
    expect(
      (
        await call(
          'POST',
          path,
          agent,
          body(`,"usage":{"inputTokens":${NUMBERS[0]}}`).replace(session, newId()),
        )
      ).status,
    ).toBe(400)
  },
)
