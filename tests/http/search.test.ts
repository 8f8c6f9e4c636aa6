/** `GET /v3/rest/search`: what it finds on every channel, in which order, how it is shown, and what is no longer found. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { QUICK } from '../support/actors.ts'
import { type Agent, assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field, putPerson, recordsOf } from '../support/feedback.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { createKey, searchOf, until } from '../support/search.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
let key: Client

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  agent = await openAgent(server)
  key = createKey(server, agent)
}, 300_000)
afterAll(() => server?.stop())

/** A word that occurs nowhere else. */
const unique = () => `w${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`
const found = (q: string, more = '') => searchOf(key, q, more)
const untilFound = (q: string, count = 1, more = '') => until(key, q, count, more)
/** Sends messages in a conversation of its own. */
const say = (events: readonly object[], members: object = {}) =>
  agent.accept(events, { externalSessionId: crypto.randomUUID(), ...members })

describe('finds', () => {
  test('messages, feedback and speech, with the text around the words marked', async () => {
    const word = unique()
    const { sessionId } = await say([userMessage(1, { content: `The ${word} of my invoice fails.` })], {
      participants: [{ externalId: 'x', displayName: 'Grace Hopper', email: `${word}@example.com` }],
    })
    const source = await createSource(key, `Desk ${word}`)
    const grace = await putPerson(key, { email: `${word}@example.com` })
    const record = await createRecord(key, source, {
      person_id: grace.id,
      display_ts: '2026-01-02T03:04:05Z',
      fields: [
        field({ value: `Please repair the ${word}.` }),
        field({ category: 'metadata', value: `${word} plan` }),
      ],
    })
    const call = await createRecording(key, {
      displayName: 'Call with Grace',
      startedAt: '2026-01-03T03:04:05Z',
      participants: [{ speaker: 1, email: `${word}@example.com` }],
      transcript: [utterance(0, 5, 0, 'Good morning.'), utterance(61, 70, 1, `Our ${word} hangs.`)],
    })
    const results = await untilFound(word, 3)
    const byChannel = Object.fromEntries(results.data.map((one) => [one.channel, one]))
    expect(results).toMatchObject({
      matches: 3,
      has_more_matches: false,
      complete: true,
      is_corrected: false,
      has_more: false,
    })
    expect(byChannel).toMatchObject({
      conversation: {
        id: sessionId,
        title: 'Grace Hopper',
        personId: grace.uuid,
        passage: `The <mark>${word}</mark> of my invoice fails.`,
        occurredAt: '2026-01-02T09:00:00.000Z',
        feedbackSourceId: null,
        startSec: null,
      },
      feedback: {
        id: String(record.id),
        feedbackSourceId: source,
        title: `Desk ${word}`,
        passage: `Please repair the <mark>${word}</mark>.`,
        personId: grace.uuid,
        occurredAt: '2026-01-02T03:04:05.000Z',
      },
      recording: {
        id: call.id,
        title: 'Call with Grace',
        passage: `Our <mark>${word}</mark> hangs.`,
        personId: grace.uuid,
        startSec: 61,
        occurredAt: '2026-01-03T03:04:05.000Z',
      },
    })
    for (const channel of ['conversation', 'feedback', 'recording'])
      expect((await found(word, `&channel=${channel}`)).data.map((one) => one.channel)).toEqual([channel])
    const ofGrace = (await found(word, `&person_id=${grace.id}`)).data.map((one) => one.channel)
    expect(ofGrace.toSorted()).toEqual(['conversation', 'feedback', 'recording'])
    expect((await found(word, `&person_id=${grace.uuid}`)).data).toHaveLength(3)
    expect((await found(word, `&person_id=${grace.id + 1}`)).data).toHaveLength(0)
    const period = await found(word, '&since=2026-01-02T09:00:00Z&until=2026-01-03T03:04:05Z')
    expect(period.data.map((one) => one.channel)).toEqual(['conversation'])
  })

  test('other forms of a word in the language of the customer', async () => {
    const word = unique()
    await say([
      userMessage(1, {
        content: `Die Rechnungen für ${word} werden seit gestern leider nicht mehr verschickt.`,
      }),
    ])
    await say([
      userMessage(1, { content: `Since yesterday the invoices of ${word} are exported very slowly.` }),
    ])
    await untilFound(word, 2)
    expect((await found(`rechnung ${word}`)).data).toHaveLength(1)
    expect((await found(`exporting invoice ${word}`)).data).toHaveLength(1)
    // The answer of the agent has the language of the customer.
    await say([
      userMessage(1, { content: 'Können Sie mir bitte sagen, wo ich die Lieferung finde?' }),
      assistantMessage(2, { content: `Die Lieferungen ${word}` }),
    ])
    const passage = await eventually(async () => {
      const { match, data } = await found(`lieferung ${word}`)
      return match === 'all' && (data[0]?.passage ?? false)
    })
    expect(passage).toContain('<mark>Lieferungen</mark>')
  })

  test('phrases, alternatives, exclusions and beginnings', async () => {
    const [a, b, c] = [unique(), unique(), unique()]
    await say([userMessage(1, { content: `${a} ${b} together` })])
    await say([userMessage(1, { content: `${b} then ${a} apart` })])
    await say([userMessage(1, { content: `only ${c} payments here` })])
    await untilFound(`${a} or ${c}`, 3)
    const count = async (q: string) => (await found(q)).data.length
    expect(await count(`"${a} ${b}"`)).toBe(1)
    expect(await count(`${a} ${b}`)).toBe(2)
    expect(await count(`${a} -together`)).toBe(1)
    expect(await count(`${c} -payment`)).toBe(0)
    expect(await count(`${c} or "${b} ${a}"`)).toBe(1)
    expect(await count(a.slice(0, 9))).toBe(2)
    expect(await count(`"${a.slice(0, 9)}"`)).toBe(0)
    expect((await found(`${a.slice(0, 9)} ${b}`)).match).toBe('any')
    expect((await found(`${a} ${b}`)).match).toBe('all')
    expect(await count(`${a} toge`)).toBe(1)
  })

  test('Japanese and Chinese words inside a sentence', async () => {
    const word = unique()
    await say([userMessage(1, { content: `請求書のエクスポートが失敗します。${word}` })])
    await say([userMessage(1, { content: `我无法导出发票 ${word}` })])
    await untilFound(word, 2)
    const japanese = await found(`エクスポート ${word}`)
    expect(japanese.data.map(({ passage }) => passage)).toEqual([
      `請求書の<mark>エクスポート</mark>が失敗します。<mark>${word}</mark>`,
    ])
    expect((await found(`导出发票 ${word}`)).data).toHaveLength(1)
    expect(await found(`票发 ${word}`)).toMatchObject({ match: 'any' })
    expect((await found(`导出 ${word}`)).match).toBe('all')
    expect((await found(`${word} -導出`)).data).toHaveLength(2)
    expect((await found(`${word} -导出`)).data).toHaveLength(1)
  })

  test('words that punctuation joins, in any normal form, marked where they stand', async () => {
    const word = unique()
    const content = `Invoice/receipt ${word} ${'réglée'.normalize('NFD')} 2026年5月分 broken.Please`
    await say([userMessage(1, { content })])
    await untilFound(word)
    const marked = async (q: string) => {
      const { match, data } = await found(`${word} ${q}`)
      return match === 'all'
        ? [...(data[0]?.passage ?? '').matchAll(/<mark>(.*?)<\/mark>/g)].map(([, one]) => one)
        : []
    }
    expect(await marked('receipt')).toEqual(['receipt', word])
    expect(await marked('invoice/receipt')).toEqual(['Invoice', 'receipt', word])
    expect(await marked('reglee')).toEqual([word, 'réglée'.normalize('NFD')])
    expect(await marked('ＲÉGLÉE')).toEqual([word, 'réglée'.normalize('NFD')])
    expect(await marked('5月')).toEqual([word, '5', '月分'])
    expect(await marked('please')).toEqual([word, 'Please'])
  })

  test('similar words only if nothing matches as written', async () => {
    await say([userMessage(1, { content: 'The synchronisation of our thermostat stopped at midnight.' })])
    await untilFound('thermostat')
    expect(await found('termostat')).toMatchObject({ matches: 1, is_corrected: true })
    const both = await found('sycnhronisation of thermostta')
    expect(both).toMatchObject({ matches: 1, is_corrected: true })
    expect(both.data[0]?.passage).toContain('<mark>synchronisation</mark>')
    expect(await found('thermostat')).toMatchObject({ matches: 1, is_corrected: false })
    expect(await found('zzzyyyxxx')).toMatchObject({ data: [], matches: 0, is_corrected: false })
  })

  test('any of the words only if no passage has all of them, those with rare words first', async () => {
    const [rare, common, third] = [unique(), unique(), unique()]
    const one = async (content: string) => (await say([userMessage(1, { content })])).sessionId
    const commons = [
      await one(`${common} first`),
      await one(`${common} second`),
      await one(`${common} third`),
      await one(`${common} fourth`),
    ]
    const rareOne = await one(`The ${rare} alone`)
    const two = await one(`A ${third} beside ${common}`)
    const paid = await one(`The ${rare} was paid`)
    await untilFound(common, 5)
    await untilFound(rare, 2)
    const all = await found(`${rare} alone`)
    expect(all).toMatchObject({ match: 'all', matches: 1 })
    const any = await found(`${rare} ${common} ${third} -paid`)
    expect(any).toMatchObject({ match: 'any', is_corrected: false, matches: 6 })
    const ids = any.data.map(({ id }) => id)
    expect(ids.slice(0, 2)).toEqual([two, rareOne])
    expect(ids.slice(2).toSorted()).toEqual(commons.toSorted())
    expect(ids).not.toContain(paid)
    expect(any.data[0]?.passage).toContain(`<mark>${third}</mark>`)
    const pages: string[] = []
    for (let cursor = ''; ; ) {
      const page = await found(`${rare} ${common} ${third} -paid`, `&limit=2${cursor}`)
      expect(page).toMatchObject({ match: 'any' })
      pages.push(...page.data.map(({ id }) => id))
      if (page.next_cursor === null) break
      // The words become more common between two pages. The order stays.
      await one(`${third} ${unique()}`)
      cursor = `&cursor=${page.next_cursor}`
    }
    expect(pages.filter((id) => ids.includes(id))).toEqual(ids)
    const phrase = await found(`"${common} fourth" ${unique()}`)
    expect(phrase).toMatchObject({ match: 'any', data: [{ id: commons[3] }] })
    expect(await found(`${unique()} ${unique()}`)).toMatchObject({ match: 'all', data: [] })
  })

  test('the newer and the customer’s own words first, each conversation once', async () => {
    const word = unique()
    const at = (occurredAt: string) => ({ occurredAt, content: word })
    const own = await say([
      userMessage(1, at('2026-01-02T09:00:00Z')),
      userMessage(2, at('2026-01-02T09:00:00Z')),
    ])
    const answered = await say([assistantMessage(1, at('2026-01-02T09:00:00Z'))])
    const old = await say([userMessage(1, at('2025-01-02T09:00:00Z'))])
    const results = await untilFound(word, 3)
    expect(results.data.map(({ id }) => id)).toEqual([own, answered, old].map(({ sessionId }) => sessionId))
    expect(results.matches).toBe(4)
    const [first, second, third] = results.data.map(({ score }) => score) as [number, number, number]
    expect(first / second).toBeCloseTo(1.2)
    expect(second / third).toBeCloseTo(2 ** (365 / 90) / 1.2)
  })

  test('page by page, every result once', async () => {
    const word = unique()
    for (let n = 0; n < 5; n++) await say([userMessage(1, { content: `${word} number ${n}` })])
    await untilFound(word, 5)
    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const { data, next_cursor, has_more } = await found(word, `&limit=2${cursor}`)
      expect([data.length, has_more]).toEqual(page === 2 ? [1, false] : [2, true])
      seen.push(...data.map(({ id }) => id))
      cursor = `&cursor=${next_cursor}`
    }
    expect(new Set(seen).size).toBe(5)
  })
})

test('escapes the text of customers: only mark is a tag', async () => {
  const word = unique()
  const hostile = `<script>alert("1")</script> <mark>x</mark> \uE000${word}\uE001\uE001 <img src=x onerror='${word}'> &lt;b&gt;`
  await say([userMessage(1, { content: hostile })])
  const passage = (await untilFound(word)).data[0]?.passage ?? ''
  expect(passage.replaceAll(`<mark>${word}</mark>`, '')).not.toMatch(/[<>"']/)
  expect(passage).toContain('&lt;script&gt;')
  expect(passage).toContain('&amp;lt;b')
  expect(passage.match(/<mark>/g)?.length).toBe(passage.match(/<\/mark>/g)?.length)
})

describe('follows', () => {
  test('revisions, late events and deletions', async () => {
    const [before, after, late] = [unique(), unique(), unique()]
    const chat = { externalSessionId: crypto.randomUUID() }
    const { sessionId } = await say([userMessage(2, { content: before })], { ...chat, status: 'ended' })
    await untilFound(before)
    await say([userMessage(2, { content: after, revision: 2 })], chat)
    await untilFound(after)
    expect((await found(before)).data).toEqual([])
    await say([userMessage(1, { content: late })], chat)
    await untilFound(late)
    expect((await key.delete(`/v3/rest/agent-conversations/sessions/${sessionId}`)).status).toBe(204)
    expect([(await found(after)).data, (await found(late)).data]).toEqual([[], []])
    const { sql } = server.database
    expect(await sql`select 1 from search_passage where session_id = ${sessionId}`).toHaveLength(0)
  })

  test('a partial message when it is final, and no hidden part', async () => {
    const [partial, hidden, last] = [unique(), unique(), unique()]
    const chat = { externalSessionId: crypto.randomUUID() }
    await say(
      [
        assistantMessage(1, { final: false, content: partial }),
        assistantMessage(2, {
          content: [
            { type: 'thinking', text: hidden },
            { type: 'tool_result', content: [{ type: 'text', text: hidden }] },
            { type: 'text', text: last },
          ],
        }),
      ],
      { ...chat, status: 'ended' },
    )
    await untilFound(last)
    expect([(await found(partial)).data, (await found(hidden)).data]).toEqual([[], []])
    await say([assistantMessage(1, { final: true, revision: 2, content: `${partial} done` })], chat)
    await untilFound(partial)
  })

  test('the settings: no content that is not captured, and only redacted text', async () => {
    const [secret, word] = [unique(), unique()]
    const open = await openAgent(server, {
      tenant: agent.tenant,
      settings: { redactedPatterns: [secret] },
    })
    const closed = await openAgent(server, { tenant: agent.tenant, settings: { captureContent: false } })
    await closed.accept([userMessage(1, { content: `${word} closed` })])
    await open.accept([userMessage(1, { content: `${word} ${secret}` })])
    expect((await untilFound(word)).data).toHaveLength(1)
    expect((await found(secret)).data).toEqual([])
    await eventually(async () => {
      const { body } = await key.get(`/v3/rest/agent-conversations/sessions?agentKey=${closed.agentKey}`)
      return body.data[0]?.processingStatus === 'capture_disabled'
    })
    expect((await found(`"${word} closed"`)).data).toEqual([])
  })

  test('the time of a recording, and its new transcript', async () => {
    const word = unique()
    const call = await createRecording(key, { transcript: [utterance(0, 1, 0, word)] })
    await untilFound(word)
    expect((await found(word, '&until=2021-01-01T00:00:00Z')).data).toEqual([])
    const { status } = await key.patch(`${RECORDINGS}/${call.id}`, { startedAt: '2020-01-01T00:00:00Z' })
    expect(status).toBe(200)
    await untilFound(word, 1, '&until=2021-01-01T00:00:00Z')
  })

  test('deleted feedback and recordings', async () => {
    const word = unique()
    const source = await createSource(key)
    const record = await createRecord(key, source, { fields: [field({ value: word })] })
    const call = await createRecording(key, { transcript: [utterance(0, 1, 0, word)] })
    await untilFound(word, 2)
    await key.delete(`${recordsOf(source)}/${record.id}`)
    expect((await found(word)).data.map(({ channel }) => channel)).toEqual(['recording'])
    await key.delete(`${RECORDINGS}/${call.id}`)
    expect((await found(word)).data).toEqual([])
  })
})

test.each([
  ['q=', 'q'],
  ['q=%20', 'q'],
  ['q=-word', 'q'],
  ['q=%21%3F', 'q'],
  [`q=${'x'.repeat(201)}`, 'q'],
  ['q=a&limit=21', 'limit'],
  ['q=a&cursor=abc', 'cursor'],
  ['q=a&channel=mail', 'channel'],
  ['q=a&person_id=x', 'person_id'],
  ['q=a&since=2026-01-02', 'since'],
  ['', 'q'],
])('%s is 400', async (query, path) => {
  const { status, body } = await key.get(`/v3/rest/search?${query}`)
  expect([status, body.details[0].path]).toEqual([400, path])
})

test.each([
  "it's",
  "'",
  '\\',
  'a & b',
  '(x) | !y:*',
  '"open',
  'or or or',
  'a or',
  '-a b',
  '%',
  'x:*',
  "O''Neil",
  'a <-> b',
])('%s breaks nothing', async (q) => {
  const { status } = await key.get(`/v3/rest/search?q=${encodeURIComponent(q)}`)
  expect([200, 400]).toContain(status)
})
