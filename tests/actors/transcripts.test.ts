/** After a transcript is complete, search finds it and a summary is made. Real workers, real HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type LongTurn, NO_ORGANIZATION } from '../../src/actors/types.ts'
import { AnalyzerError } from '../../src/analysis/analyze/analyzer-error.ts'
import type { Passage, Summarizer } from '../../src/analysis/analyze/summarizer.ts'
import { transcriptHandlers } from '../../src/calls/transcripts/indexing.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let client: Client

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  client = server.as({ apiKey: (await server.createTenant()).apiKey })
})
afterAll(() => server?.stop())

/** Creates a recording and waits until its actor is done. */
async function completed(texts: readonly string[], more: object = {}, caller = client): Promise<string> {
  const transcript = texts.map((text, index) => utterance(index, index + 1, index % 2, text))
  const { id } = await createRecording(caller, { transcript, ...more })
  await idle(id)
  return id
}

const idle = (id: string) =>
  eventually(async () => {
    const rows = await server.database.sql`select 1 from actor_message where key = ${`recording:${id}`}`
    return rows.length === 0
  })

async function found(q: string, caller = client): Promise<readonly string[]> {
  const { status, body } = await caller.get(`${RECORDINGS}?limit=100&q=${encodeURIComponent(q)}`)
  expect(status).toBe(200)
  return body.data.map(({ id }: { id: string }) => id)
}

const summaryOf = async (id: string) => (await client.get(`${RECORDINGS}/${id}`)).body.summary

/** Words that no other test of this file uses. */
const unique = () => `w${newId().replaceAll('-', '')}`

describe('search', () => {
  test('finds words of the transcript and of the name in any case', async () => {
    const [said, named] = [unique(), unique()]
    const id = await completed([`The ${said} is broken.`, 'Since Monday.'], {
      displayName: `Call about ${named}`,
    })
    expect(await found(said)).toEqual([id])
    expect(await found(said.toUpperCase())).toEqual([id])
    expect(await found(named)).toEqual([id])
    expect(await found(`${said} ${named}`)).toEqual([id])
    expect(await found(`${said} ${unique()}`)).toEqual([])
  })

  test('finds a name without a transcript, too', async () => {
    const word = unique()
    const { id } = await createRecording(client, { displayName: `${word}!` })
    expect(await found(word)).toEqual([id])
  })

  test('knows phrases, or, and without', async () => {
    const [a, b, c] = [unique(), unique(), unique()]
    const both = await completed([`${a} ${b}`])
    const turned = await completed([`${b} ${a}`, c])
    const only = await completed([`${a}`])
    expect(new Set(await found(a))).toEqual(new Set([both, turned, only]))
    expect(await found(`"${a} ${b}"`)).toEqual([both])
    expect(await found(`${a} -${b}`)).toEqual([only])
    expect(await found(`${a} -"${a} ${b}" -${c}`)).toEqual([only])
    expect(new Set(await found(`"${a} ${b}" or ${c}`))).toEqual(new Set([both, turned]))
    expect(await found(`${a} or ${b} ${c}`)).toEqual([turned])
  })

  test('finds other forms of a word, and words that begin with it', async () => {
    const word = unique()
    const id = await completed([`${word}ending The companies were invoiced; we are running Rechnungen`])
    for (const q of [
      'invoice',
      'invoices',
      'INVOICING',
      'invoi',
      'company',
      'compan',
      'run',
      'runs',
      'Rechnung',
    ])
      expect([q, await found(`${word} ${q}`)]).toEqual([q, [id]])
    // Matches the exact word in quotation marks and when excluding it.
    expect(await found(`${word} "invoice"`)).toEqual([])
    expect(await found(`${word} -invoice`)).toEqual([id])
    expect(await found(`${word} -invoiced`)).toEqual([])
  })

  test('finds words of any language, also short and common ones', async () => {
    const word = unique()
    const id = await completed([`${word} Die Rechnung für Müller ist nicht da`, 'это счёт', 'the'])
    for (const q of ['RECHNUNG', 'müller', 'счёт', 'the', 'nicht'])
      expect(await found(`${word} ${q}`)).toEqual([id])
  })

  test('finds words and phrases anywhere in the longest transcript, even in distant parts', async () => {
    const [first, last] = [unique(), unique()]
    const filler = 'so we talked about many things and then about more of them '.repeat(300)
    const id = await completed([first, ...Array.from({ length: 110 }, () => filler), `one ${last} two three`])
    expect(await found(`${first} ${last}`)).toEqual([id])
    expect(await found(`"${last} two three"`)).toEqual([id])
    expect(await found(`${first} -${last}`)).toEqual([])
    const { sql } = server.database
    const [{ parts }] = await sql<[{ parts: number }]>`
      select count(*)::int as parts from transcript_search where recording_id = ${id}`
    expect(parts).toBeGreaterThan(10)
  }, 300_000)

  test('accepts the worst possible transcript', async () => {
    // Many long words with hyphens: each is indexed as a whole and in parts, four bytes per character.
    const text = Array.from(
      { length: 40 },
      (_, index) => `${'𝒳'.repeat(248)}-${String.fromCodePoint(0x1d4d0 + index).repeat(248)}`,
    )
    const id = await completed(Array.from({ length: 100 }, (_, n) => `${n} ${text.join(' ')}`))
    const { sql } = server.database
    expect(await sql`select 1 from transcript_search where recording_id = ${id}`).not.toHaveLength(0)
  }, 300_000)

  test.each(['!!!', '-', '""', '" "', '&|<->:*()', '\\', "'"])(
    '%s finds nothing and breaks nothing',
    async (q) => {
      expect(await found(q)).toEqual([])
    },
  )

  test('finds nothing from another organization', async () => {
    const word = unique()
    await completed([word], { displayName: word })
    const stranger = server.as({ apiKey: (await server.createTenant()).apiKey })
    expect(await found(word, stranger)).toEqual([])
    expect(await found(`-${word}`, stranger)).toEqual([])
  })

  test('forgets a deleted recording', async () => {
    const word = unique()
    const id = await completed([word])
    await client.delete(`${RECORDINGS}/${id}`)
    expect(await found(word)).toEqual([])
    expect(
      await server.database.sql`select 1 from transcript_search where recording_id = ${id}`,
    ).toHaveLength(0)
  })
})

const SPEECH = [
  'Hello, good morning.',
  'The export of the monthly invoices fails since the last update of the billing page.',
  'Oh, okay.',
  'Our accounting team needs the invoices of the month before Friday.',
  'We will repair the export of invoices and send you the files by Thursday.',
]

describe('a summary', () => {
  test('is made of sentences of the transcript, at most 600 characters, and shown in the list', async () => {
    const word = unique()
    const id = await completed([...SPEECH, `${word}.`])
    const summary = await summaryOf(id)
    expect(summary).toContain('invoices')
    expect(summary).not.toContain('Hello')
    expect(Array.from(summary as string).length).toBeLessThanOrEqual(600)
    const { body } = await client.get(`${RECORDINGS}?q=${word}`)
    expect(body.data[0].summary).toBe(summary)
  })

  test('from the caller is never overwritten', async () => {
    const id = await completed(SPEECH, { summary: 'As the caller says.' })
    expect(await summaryOf(id)).toBe('As the caller says.')
  })

  test('is missing if nothing was said', async () => {
    expect(await summaryOf(await completed([]))).toBeNull()
  })
})

describe('a turn', () => {
  /** Runs the handler as the runtime does, with a summariser that answers by `answer`. */
  async function turn(id: string, answer: (passages: readonly Passage[]) => Promise<string | null>) {
    const summarizer: Summarizer = { name: 'scripted', summarize: answer }
    let finished = 0
    const inTransaction: LongTurn['step'] = (work) =>
      transaction(server.database.sql, (tx) => work(tx, async () => {}))
    await transcriptHandlers(summarizer).transcript_completed({
      message: {
        key: `recording:${id}`,
        id,
        seq: 1,
        type: 'transcript_completed',
        payload: {},
        attempts: 0,
      },
      organization: NO_ORGANIZATION,
      signal: new AbortController().signal,
      log: createLog('silent', 'test'),
      read: (work) => transaction(server.database.sql, work, 'read only'),
      step: inTransaction,
      finish: (work) => {
        finished++
        return inTransaction(work)
      },
    })
    expect(finished).toBe(1)
  }

  test('can run again: parts and summary are replaced', async () => {
    const [before, after] = [unique(), unique()]
    const id = await completed([before, 'and'])
    const { sql } = server.database
    await sql`update transcript_utterance set text = ${after} where recording_id = ${id} and ordinal = 0`
    await turn(id, async (passages) => passages.map(({ text }) => text).join(' '))
    expect(await found(before)).toEqual([])
    expect(await found(after)).toEqual([id])
    expect(await summaryOf(id)).toBe(`${after} and`)
  })

  test('keeps a summary that the caller set meanwhile', async () => {
    const id = await completed(SPEECH)
    await turn(id, async () => {
      expect((await client.patch(`${RECORDINGS}/${id}`, { summary: 'Mine.' })).status).toBe(200)
      return 'Ours.'
    })
    expect(await summaryOf(id)).toBe('Mine.')
  })

  test('makes no new summary if the caller removed it', async () => {
    const id = await completed(SPEECH)
    expect((await client.patch(`${RECORDINGS}/${id}`, { summary: null })).status).toBe(200)
    await turn(id, async () => 'Ours.')
    expect(await summaryOf(id)).toBeNull()
  })

  test('ends without a summary if the engine refuses the transcript', async () => {
    const id = await completed(SPEECH)
    await turn(id, async () => {
      throw new AnalyzerError('The analysis server answered 400', false)
    })
    expect(await summaryOf(id)).toBeNull()
  })

  test('fails and is retried if the engine is away, but search finds the transcript', async () => {
    const word = unique()
    const id = await completed([word])
    await server.database.sql`delete from transcript_search where recording_id = ${id}`
    const away = turn(id, async () => {
      throw new AnalyzerError('The analysis server could not be reached', true)
    })
    await expect(away).rejects.toThrow('could not be reached')
    expect(await found(word)).toEqual([id])
  })

  test('of a recording that was deleted does nothing', async () => {
    await turn(newId(), async () => {
      throw new Error('must not be asked')
    })
  })
})
