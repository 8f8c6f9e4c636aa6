/** The import of conversations from rows: windows, order, refusals. The service is a function here. */
import { describe, expect, test } from 'bun:test'
import type { AppendRequest } from '../../src/hear/agents/request-model.ts'
import type { ReadRow } from '../../src/hear/feedback/row-import/reader.ts'
import { type ConversationImport, importConversations } from '../../src/hear/importers/import-file.ts'
import { createConversationJudge } from '../../src/hear/importers/row.rules.ts'
import { eventually } from '../support/eventually.ts'

const columns = ['conversation', 'id', 'role', 'content']
const rowOf = (line: number, ...values: readonly string[]): ReadRow => ({
  line,
  bytes: line * 20,
  content: { columns, values, isText: true },
})

const job = (rows: ConversationImport['rows'], send: ConversationImport['send']): ConversationImport => ({
  rows,
  judge: createConversationJudge({ columns: new Map(), roles: new Map() }),
  defaults: { agentKey: 'bot', status: 'ended', environment: undefined },
  send,
  onProgress: () => {},
})

const accepted = ({ events }: AppendRequest) => ({
  acceptedEventCount: events.length,
  deduplicatedEventCount: 0,
  revisedEventCount: 0,
})

describe('rows', () => {
  test('no more than one window of rows is read ahead of the service', async () => {
    let read = 0
    const open = Promise.withResolvers<void>()
    async function* rows() {
      for (let line = 1; line <= 10_000; line++) {
        read = line
        yield rowOf(line, `c${line}`, 'm', 'user', 'hello')
      }
    }
    const done = importConversations(job(rows(), (body) => open.promise.then(() => accepted(body))))
    await eventually(() => read >= 2_000)
    expect(read).toBe(2_000)
    open.resolve()
    expect(await done).toMatchObject({ rows: 10_000, imported: 10_000 })
  })

  test('messages of a conversation are sent in order, and only its last request ends it', async () => {
    const bodies: AppendRequest[] = []
    async function* rows() {
      for (let line = 1; line <= 1_400; line++) yield rowOf(line, `c${line % 2}`, `m${line}`, 'user', 'hello')
    }
    await importConversations(
      job(rows(), async (body) => {
        bodies.push(body)
        return accepted(body)
      }),
    )
    const of = (session: string) => bodies.filter(({ externalSessionId }) => externalSessionId === session)
    expect(of('c1').map(({ status, events }) => [status, events.length])).toEqual([
      [undefined, 500],
      ['ended', 200],
    ])
    expect(of('c1').flatMap(({ events }) => events.map(({ externalEventId }) => externalEventId))).toEqual(
      Array.from({ length: 700 }, (_, n) => `m${2 * n + 1}`),
    )
  })

  test('a refused event costs its row, a refused request all of its rows', async () => {
    const refused: number[] = []
    async function* rows() {
      for (let line = 1; line <= 6; line++)
        yield rowOf(line, line < 4 ? 'a' : 'b', `m${line}`, 'user', 'hello')
    }
    const counts = await importConversations({
      ...job(rows(), async (body) => {
        if (body.externalSessionId === 'b') return { event: null, reason: 'no' }
        const event = body.events.findIndex(({ externalEventId }) => externalEventId === 'm2')
        return event === -1 ? accepted(body) : { event, reason: 'no' }
      }),
      onProgress: (_, rows) => refused.push(...rows.map(({ line }) => line)),
    })
    expect(counts).toMatchObject({ rows: 6, imported: 2, refused: 4 })
    expect(refused).toEqual([2, 4, 5, 6])
  })

  test('a failure ends the import after what is under way', async () => {
    let [begun, ended] = [0, 0]
    async function* rows() {
      for (let line = 1; line <= 100; line++) yield rowOf(line, `c${line}`, 'm', 'user', 'hello')
    }
    const failed = await importConversations(
      job(rows(), async (body) => {
        begun++
        await Promise.resolve()
        ended++
        if (body.externalSessionId === 'c5') throw new Error('unavailable')
        return accepted(body)
      }),
    ).then(
      () => null,
      (error: Error) => error.message,
    )
    expect(failed).toBe('unavailable')
    expect(begun).toBe(ended)
    expect(begun).toBeLessThan(20)
  })
})
