/** Turns that end between any two of their statements, together with their connection: afterwards everything is as without the crash. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Tx } from '../../src/platform/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { addOrganization, addRecord, createThemesRunner, disagreements } from '../support/themes.ts'

const TEXTS = [
  'password reset mail never arrives',
  'my password reset mail is missing',
  'no password reset mail came',
  'invoice export crashes quickly',
  'the invoice export crashes',
  'invoice export crashes again',
]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** Ends the connection of the transaction in place of the statement with this number, counted over all transactions. */
function crashAt(at: number) {
  const state = { statements: 0, crashed: false }
  const wrap = (tx: Tx): Tx =>
    new Proxy(tx, {
      apply(target, self, given: unknown[]) {
        const statement = Reflect.apply(target as never, self, given)
        // Parts of statements and rows of values are no statements of their own.
        const isStatement =
          Array.isArray(given[0]) &&
          'raw' in given[0] &&
          /^\s*(select|insert|update|delete|with)\b/.test(String(given[0][0]))
        if (!isStatement || ++state.statements !== at || state.crashed) return statement
        state.crashed = true
        // The statement ends the connection instead.
        const end = ['select pg_terminate_backend(pg_backend_pid())']
        return Reflect.apply(target as never, self, [Object.assign(end, { raw: end })])
      },
    })
  return { state, wrap }
}

/** What there is, without ids and times. */
async function contents(organizationId: string) {
  const { sql } = database
  return {
    items: await sql`
      select g.comment, t.title, i.locked
      from theme_item i join agent_signal g on g.id = i.signal_id left join theme t on t.id = i.theme_id
      where i.organization_id = ${organizationId} order by g.comment`,
    themes: await sql`
      select title, title_by, count, weight, merged_into is null as kept from theme
      where organization_id = ${organizationId} order by title, count`,
    terms:
      await sql`select term, count from theme_term where organization_id = ${organizationId} order by term`,
    left: await sql`select channel from theme_change where organization_id = ${organizationId}`,
    wrong: await disagreements(sql, organizationId),
  }
}

/** Groups six texts, deletes one, changes one, and merges the two themes. */
async function live(at: number) {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  const { state, wrap } = crashAt(at)
  const themes = createThemesRunner(sql, organizationId, { wrap })
  /** As a worker: a turn that crashed runs again. */
  const survive = async (type: string, payload = {}) => {
    const crashedBefore = state.crashed
    await themes.run(type, payload).catch((error: Error) => {
      if (state.crashed === crashedBefore) throw error
      return themes.run(type, payload)
    })
  }
  const settle = async () => {
    for (const type of ['forget', 'assign', 'link']) {
      await survive(type)
      for (let next = themes.waiting.shift(); next !== undefined; next = themes.waiting.shift())
        await survive(next.type, next.payload as object)
    }
  }
  const records = []
  for (const text of TEXTS) records.push(await addRecord(sql, organizationId, [{ text }]))
  await settle()
  await addRecord(sql, organizationId, [{ text: 'password reset mail does not arrive' }])
  await sql`delete from feedback_record where id = ${records[5]!.recordId}`
  await sql`update agent_signal set rating = 'positive' where id = ${records[0]!.signalIds[0]!}`
  await settle()
  const [one, other] =
    await sql`select id from theme where organization_id = ${organizationId} order by count desc`
  await sql`update theme set merged_into = ${one!.id} where id = ${other!.id}`
  await survive('merge', { themeId: other!.id })
  await survive('retitle', { themeId: one!.id })
  return { result: await contents(organizationId), state }
}

test('a turn may be killed between any two statements', async () => {
  const { result, state } = await live(0)
  expect(result.wrong).toEqual([])
  expect(result.left).toHaveLength(0)
  expect(result.items).toHaveLength(6)
  expect(state.statements).toBeGreaterThan(60)
  for (let at = 1; at <= state.statements; at++) {
    const again = await live(at)
    expect([at, again.state.crashed]).toEqual([at, true])
    expect([at, again.result]).toEqual([at, result])
  }
}, 300_000)
