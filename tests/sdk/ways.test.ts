/**
 * One conversation of ten turns by every way in: the service ends with the same messages in the same order. What a way cannot carry stands in
 * the table of docs/ways-in.md, which is compared with what arrived.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { Earshot } from '../../sdk/typescript/src/earshot.ts'
import { earshotCallbacks } from '../../sdk/typescript/src/hooks/langchain.ts'
import { type Agent, APPEND, openAgent } from '../support/agents.ts'
import { CONVERSATION, requestOf, settle, span, storedEvents, TRACES } from '../support/otlp.ts'
import { pythons, runPython } from '../support/python.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  agent = await openAgent(server)
})
afterAll(() => server.stop())

const TURNS = CONVERSATION.length / 2
const MINUTE_MS = 60_000
const START = Date.parse('2026-01-02T09:00:00Z')
const PERSON = 'customer-77'
const AREA = 'shipping'
const COMMENT = 'Friendly.'
const MODEL = 'small'
const TOKENS = 20

/** The messages with an id and a time, as an application keeps them. */
const HISTORY = CONVERSATION.map((content, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content,
  id: `own-${index + 1}`,
  occurredAt: new Date(START + index * MINUTE_MS).toISOString(),
}))
const LAST = HISTORY.at(-1)?.id ?? ''

const credentials = () => ({ url: server.baseUrl, agentKey: agent.agentKey, secret: agent.agentSecret })
const ofApplication = (externalSessionId: string) => ({
  agentKey: agent.agentKey,
  externalSessionId,
  status: 'ended',
  context: { productArea: AREA },
  participants: [{ externalId: PERSON }],
})
const events = (externalSessionId: string) =>
  [
    ...HISTORY.map(({ role, content, id, occurredAt }) => ({
      externalEventId: id,
      occurredAt,
      type: `${role}_message`,
      content,
      ...(role === 'user'
        ? { participantExternalId: PERSON }
        : { model: { name: MODEL }, usage: { inputTokens: TOKENS } }),
    })),
    {
      externalEventId: `${externalSessionId}-rating`,
      occurredAt: new Date(START + TURNS * 2 * MINUTE_MS).toISOString(),
      type: 'feedback',
      feedback: { targetEventExternalId: LAST, rating: 'positive', comment: COMMENT },
    },
  ] as const

const PROGRAM = `
import json, sys
from earshot import Earshot
earshot = Earshot(url=sys.argv[1], agent_key=sys.argv[2], secret=sys.argv[3])
session = earshot.session("python", person={"id": sys.argv[4]}, context={"product_area": sys.argv[5]})
history = [{"occurred_at": one.pop("occurredAt"), **one} for one in json.loads(sys.argv[6])]
for turn in range(0, len(history), 2):
    session.sync(history[: turn + 2])
session.feedback(history[-1]["id"], "positive", sys.argv[7])
session.end()
assert earshot.flush(30)
`

/** Each way sends all that it can carry. The session bears its name. */
const WAYS: Readonly<Record<string, () => Promise<void>>> = {
  async ingest() {
    const numbered = events('ingest').map((event, index) => ({ ...event, sequence: index + 1, revision: 1 }))
    await agent.accept(numbered, ofApplication('ingest'))
  },
  async append() {
    const { status } = await agent.client.post(APPEND, {
      ...ofApplication('append'),
      events: events('append'),
    })
    expect(status).toBe(200)
  },
  async typescript() {
    const earshot = new Earshot(credentials())
    const session = earshot.session('typescript', {
      person: { externalId: PERSON },
      context: { productArea: AREA },
    })
    for (let turn = 1; turn <= TURNS; turn++) session.sync(HISTORY.slice(0, 2 * turn) as never)
    session.feedback(LAST, 'positive', COMMENT)
    session.end()
    await earshot.close()
  },
  async python() {
    const { url, agentKey, secret } = credentials()
    const args = ['-c', PROGRAM, url, agentKey, secret, PERSON, AREA, JSON.stringify(HISTORY), COMMENT]
    expect(await runPython(pythons()[0], args)).toMatchObject({ code: 0, errors: '' })
  },
  async hook() {
    const earshot = new Earshot(credentials())
    const answers = CONVERSATION.filter((_, index) => index % 2 === 1)
    const model = new FakeListChatModel({ responses: answers })
    const callbacks = [
      earshotCallbacks(earshot, () => ({
        id: 'hook',
        person: { externalId: PERSON },
        context: { productArea: AREA },
      })),
    ]
    const history: BaseMessage[] = []
    for (const [index, answer] of answers.entries()) {
      history.push(new HumanMessage(CONVERSATION[2 * index] ?? ''))
      await model.invoke(history, { callbacks })
      history.push(new AIMessage(answer))
    }
    const session = earshot.session('hook')
    session.feedback({ role: 'assistant', content: answers.at(-1) ?? '' }, 'positive', COMMENT)
    session.end()
    await earshot.close()
  },
  async opentelemetry() {
    for (let turn = 0; turn < TURNS; turn++) await sendTrace(turn)
    await settle(server)
  },
}

/** A trace of one turn, with the history that frameworks repeat in every call. */
async function sendTrace(turn: number): Promise<void> {
  const traceId = (turn + 1).toString(16).padStart(32, 'a')
  const said = (index: number) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    parts: [{ type: 'text', content: CONVERSATION[index] }],
  })
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': 'opentelemetry',
    'gen_ai.request.model': MODEL,
    'gen_ai.usage.input_tokens': TOKENS,
    'user.id': PERSON,
    'gen_ai.input.messages': Array.from({ length: 2 * turn + 1 }, (_, index) => said(index)),
    'gen_ai.output.messages': [said(2 * turn + 1)],
  }
  const rating = {
    timeUnixNano: '1767344460000000000',
    name: 'gen_ai.evaluation.result',
    attributes: [
      { key: 'gen_ai.evaluation.name', value: { stringValue: 'user_feedback' } },
      { key: 'gen_ai.evaluation.score.label', value: { stringValue: 'positive' } },
      { key: 'gen_ai.evaluation.explanation', value: { stringValue: COMMENT } },
    ],
  }
  const one = span(1, 60 * turn, attributes, { traceId, events: turn === TURNS - 1 ? [rating] : [] })
  const { status } = await agent.client.post(TRACES, requestOf([one]))
  expect(status).toBe(200)
}

/** What arrived of what only some ways carry, by row of the table. */
async function carriedBy(name: string) {
  const { sql } = server.database
  const arrived = (await storedEvents(server, agent)).filter(({ session }) => session === name)
  const messages = arrived.filter(({ type }) => type !== 'feedback')
  const [session] = await sql<
    { status: string; context: unknown; participants: readonly { externalId: string }[] }[]
  >`
    select s.status, s.context, s.participants
    from agent_session s
    where s.organization_id = ${agent.organizationId} and s.external_session_id = ${name}`
  const answer = messages.at(-1)
  const rating = arrived.find(({ type }) => type === 'feedback')?.body.feedback
  const isRight = rating?.targetEventExternalId === answer?.externalEventId && rating?.comment === COMMENT
  return {
    messages: messages.map(({ type, body }) => [type, body.content]),
    carried: {
      'Ids of messages': messages.every(({ externalEventId }, at) => externalEventId === HISTORY[at]?.id),
      'Times of messages': messages.every(
        ({ occurredAt }, at) => occurredAt.toISOString() === HISTORY[at]?.occurredAt,
      ),
      'The user': session?.participants.some(({ externalId }) => externalId === PERSON) === true,
      'Product area and page': JSON.stringify(session?.context)?.includes(AREA) === true,
      'Model and tokens': answer?.body.model?.name === MODEL && answer.body.usage?.inputTokens === TOKENS,
      'Rating and comment': isRight,
      'End of the session': session?.status === 'ended',
    },
  }
}

/** Row → column → cell of the table. */
function documented(): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const page = readFileSync(join(import.meta.dir, '../../docs/ways-in.md'), 'utf8')
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const [head = [], , ...rows] = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map(cellsOf)
  return new Map(
    rows.map(([row = '', ...cells]) => [row, new Map(cells.map((cell, at) => [head[at + 1] ?? '', cell]))]),
  )
}

const COLUMN: Readonly<Record<string, string>> = {
  ingest: 'Ingest',
  append: 'Append',
  typescript: 'SDKs',
  python: 'SDKs',
  hook: 'Hooks',
  opentelemetry: 'OpenTelemetry',
}

for (const [name, send] of Object.entries(WAYS))
  test(`a conversation of ten turns is the same session by ${name}, and carries what the table says`, async () => {
    await send()
    const { messages, carried } = await carriedBy(name)
    expect(messages).toEqual(HISTORY.map(({ role, content }) => [`${role}_message`, content]))
    const table = documented()
    const said = Object.keys(carried).map((row) => [
      row,
      table
        .get(row)
        ?.get(COLUMN[name] ?? '')
        ?.startsWith('yes'),
    ])
    expect(Object.entries(carried)).toEqual(said as never)
  }, 300_000)
