/** The actor of themes: which items and themes there are after its turns, and that counts always are those of the members. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  addFinding,
  addOrganization,
  addRecord,
  createThemesRunner,
  disagreements,
} from '../support/themes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function open() {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  return {
    sql,
    organizationId,
    themes: createThemesRunner(sql, organizationId),
    add: (...texts: string[]) =>
      addRecord(
        sql,
        organizationId,
        texts.map((text) => ({ text })),
      ),
    rows: () => sql`
      select i.subject_id, g.comment, i.theme_id, i.locked
      from theme_item i join agent_signal g on g.id = i.signal_id
      where i.organization_id = ${organizationId} order by i.id`,
    list: () => sql`
      select id, title, title_by, count, merged_into from theme
      where organization_id = ${organizationId} and merged_into is null order by count desc, id`,
    check: async () => expect(await disagreements(sql, organizationId)).toEqual([]),
  }
}

const RESET = [
  'password reset email never arrives',
  'my password reset email is missing',
  'no password reset email came',
]
const EXPORT = [
  'invoice export crashes quickly',
  'the invoice export crashes',
  'invoice export crashes again badly',
]

describe('assign', () => {
  test('makes an item for each passage, and links the pool to themes with a typical quotation as title', async () => {
    const { themes, add, rows, list, check } = await open()
    for (const text of [...RESET, ...EXPORT]) await add(text)
    await themes.settle()
    expect(await rows()).toHaveLength(6)
    const made = await list()
    expect(made.map(({ count }) => count)).toEqual([3, 3])
    expect(made.map(({ title }) => title).toSorted()).toEqual([
      'no password reset email came',
      'the invoice export crashes',
    ])
    await add('password reset email does not arrive')
    await themes.settle()
    expect((await list()).map(({ count }) => count)).toEqual([4, 3])
    await check()
  })

  test('the same findings twice make the same rows', async () => {
    const { sql, themes, add, rows, check, organizationId } = await open()
    for (const text of RESET) await add(text)
    await themes.settle()
    const before = await rows()
    await sql`
      insert into theme_change (organization_id, channel, subject_id, gone)
      select organization_id, channel, feedback_record_id::text, false from agent_signal where organization_id = ${organizationId}`
    await themes.settle()
    expect(await rows()).toEqual(before)
    await check()
  })

  test('one item for a passage of several findings, at most five of a subject, none of a confirmation or mere politeness', async () => {
    const { sql, themes, rows, organizationId } = await open()
    await addRecord(sql, organizationId, [
      { text: 'The export crashes', kind: 'bug_report' },
      { text: 'The export crashes', kind: 'complaint', shown: false },
    ])
    await addRecord(
      sql,
      organizationId,
      [
        'bug_report',
        'question',
        'complaint',
        'confusion',
        'churn_risk',
        'wrong_answer',
        'feature_request',
      ].map((kind, n) => ({ kind, text: `Passage about ${kind}`, confidence: 1 - n / 10 })),
    )
    await addRecord(sql, organizationId, [
      { text: 'The export runs again', kind: 'resolved_confirmation' },
      { text: 'Thanks, great!', kind: 'praise' },
      { text: 'It was?', kind: 'question' },
    ])
    await themes.settle()
    const comments = (await rows()).map(({ comment }) => comment)
    expect(comments.filter((one) => one === 'The export crashes')).toHaveLength(1)
    expect(comments.filter((one) => one.startsWith('Passage'))).toEqual(
      ['bug_report', 'question', 'complaint', 'confusion', 'churn_risk'].map(
        (kind) => `Passage about ${kind}`,
      ),
    )
    expect(comments).toHaveLength(6)
  })

  test('a passage that stays keeps its item, though its finding is another one', async () => {
    const { sql, themes, add, rows, check, organizationId } = await open()
    const [first] = await Promise.all(RESET.map((text) => add(text)))
    await themes.settle()
    const before = await rows()
    await sql`delete from agent_signal where id = ${first!.signalIds[0]!}`
    await addFinding(sql, organizationId, first!.recordId, { text: RESET[0]!, rating: 'positive' })
    await themes.settle()
    expect((await rows()).map(({ theme_id }) => theme_id)).toEqual(before.map(({ theme_id }) => theme_id))
    await check()
  })
})

describe('forget', () => {
  test('deletion leaves no row, vector, term or count', async () => {
    const { sql, themes, add, list, check, organizationId } = await open()
    const records = []
    for (const text of RESET) records.push(await add(text))
    await themes.settle()
    expect(await list()).toHaveLength(1)
    await sql`delete from feedback_record where id = ${records[0]!.recordId}`
    await themes.settle()
    expect((await list()).map(({ count }) => count)).toEqual([2])
    await check()
    await sql`delete from agent_signal where id = any(${records.slice(1).flatMap(({ signalIds }) => signalIds)}::text[]::uuid[])`
    await themes.settle()
    await check()
    for (const table of ['theme', 'theme_item', 'theme_day', 'theme_term', 'theme_change'])
      expect(await sql`select from ${sql(table)} where organization_id = ${organizationId}`).toHaveLength(0)
  })

  test('an organization is deleted with its themes', async () => {
    const { sql, themes, add, organizationId } = await open()
    for (const text of RESET) await add(text)
    await themes.settle()
    await sql`delete from feedback_record where organization_id = ${organizationId}`
    await sql`delete from feedback_source where organization_id = ${organizationId}`
    await sql`delete from organization where id = ${organizationId}`
    expect(await sql`select from theme where organization_id = ${organizationId}`).toHaveLength(0)
    await themes.settle()
    expect(await sql`select from theme_item where organization_id = ${organizationId}`).toHaveLength(0)
    expect(await sql`select from theme_change where organization_id = ${organizationId}`).toHaveLength(0)
  })
})
