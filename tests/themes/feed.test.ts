/** How findings reach the actor: the queue, what was there before themes, a text that cannot be embedded, and other languages. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Message } from '../../src/actors/types.ts'
import type { TextJobs } from '../../src/analysis/analyze/text-work.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { themesChange, wakeThemes } from '../../src/understand/themes/feed.ts'
import { DIMENSIONS } from '../../src/understand/themes/vector.rules.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  addOrganization,
  addRecord,
  createThemesRunner,
  disagreements,
  wordVectors,
} from '../support/themes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const notifier = { name: 'postgres' as const, notify: () => {}, close: async () => {} }

const waiting = async (organizationId: string) =>
  (
    await database.sql`select type from actor_message where key = ${`themes:${organizationId}`} order by seq`
  ).map(({ type }) => type)

test('an organization with changes is woken, once for each kind of change, and another is not', async () => {
  const { sql } = database
  const [organizationId, other] = [await addOrganization(sql), await addOrganization(sql)]
  await addRecord(sql, organizationId, [{ text: 'export crashes' }])
  const { recordId } = await addRecord(sql, organizationId, [{ text: 'search is slow' }])
  await sql`delete from feedback_record where id = ${recordId}`
  await wakeThemes({ sql, notifier }, 600)
  await wakeThemes({ sql, notifier }, 600)
  expect(await waiting(organizationId)).toEqual(['forget', 'assign'])
  expect(await waiting(other)).toEqual([])
})

test('few new items are linked after a while', async () => {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  await addRecord(sql, organizationId, [{ text: 'export crashes' }])
  await createThemesRunner(sql, organizationId).run('assign')
  await wakeThemes({ sql, notifier }, 600)
  expect(await waiting(organizationId)).toEqual([])
  await wakeThemes({ sql, notifier }, 0)
  expect(await waiting(organizationId)).toEqual(['link'])
})

test('what changes nothing in a finding is no change; another quotation is one', async () => {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  const { signalIds } = await addRecord(sql, organizationId, [{ text: 'export crashes' }])
  const themes = createThemesRunner(sql, organizationId)
  await themes.settle()
  const changes = () => sql`select from theme_change where organization_id = ${organizationId}`
  await sql`update agent_signal set analyzer_version = '2', updated_at = now() where id = ${signalIds[0]!}`
  expect(await changes()).toHaveLength(0)
  await sql`update agent_signal set comment = 'import crashes' where id = ${signalIds[0]!}`
  expect(await changes()).toHaveLength(1)
  await themes.settle()
  const rows = await sql`select terms from theme_item where organization_id = ${organizationId}`
  expect(rows.map(({ terms }) => terms)).toEqual([['import', 'crash']])
  expect(await disagreements(sql, organizationId)).toEqual([])
})

test('findings of before are put into the queue', async () => {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  const { signalIds } = await addRecord(sql, organizationId, [{ text: 'export crashes' }])
  await sql`delete from theme_change where organization_id = ${organizationId}`
  await transaction(sql, (tx) => themesChange.change(tx, signalIds))
  await createThemesRunner(sql, organizationId).settle()
  expect(await sql`select from theme_item where organization_id = ${organizationId}`).toHaveLength(1)
})

test('a text that ends the text process holds up no other: fewer are tried after each failure, and the last one is left out', async () => {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  const sizes: number[] = []
  await addRecord(sql, organizationId, [{ text: 'poison crashes everything' }])
  await addRecord(sql, organizationId, [{ text: 'export crashes' }])
  const themes = createThemesRunner(sql, organizationId, {
    textWork: {
      async run(job, input, signal) {
        sizes.push((input as TextJobs['embed']['input']).texts.length)
        if (JSON.stringify(input).includes('poison')) throw new Error('the text process ended')
        return wordVectors.run(job, input, signal)
      },
    },
  })
  expect(await themes.run('assign', {}, 0).catch((error: Error) => error.message)).toBe(
    'the text process ended',
  )
  expect(await themes.run('assign', {}, 9).catch((error: Error) => error.message)).toBe(
    'the text process ended',
  )
  expect(sizes).toEqual([2, 1])
  const message: Message = {
    key: `themes:${organizationId}`,
    id: organizationId,
    seq: 1,
    type: 'assign',
    payload: {},
    attempts: 10,
  }
  const given = await transaction(sql, async (tx) =>
    themes.actor.giveUp?.(message, tx, async () => {}, 'ended'),
  )
  expect(given).toBe('handled')
  await themes.run('assign')
  const rows = await sql`select terms from theme_item where organization_id = ${organizationId}`
  expect(rows.map(({ terms }) => terms)).toEqual([['export', 'crash']])
})

test('texts without a vector are compared by their words alone, and those of every language are embedded', async () => {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  for (const text of ['Die Rechnung ist falsch', 'Rechnung ist falsch', 'Meine Rechnung ist falsch'])
    await addRecord(sql, organizationId, [{ text, language: 'de' }])
  let embedded = 0
  const themes = createThemesRunner(sql, organizationId, {
    textWork: {
      async run(_, input) {
        const { texts } = input as TextJobs['embed']['input']
        embedded += texts.length
        return texts.map(() => Buffer.alloc(DIMENSIONS).toString('base64')) as never
      },
    },
  })
  await themes.settle()
  expect(embedded).toBe(3)
  const [theme] = await sql`select title, count from theme where organization_id = ${organizationId}`
  expect(theme).toMatchObject({ count: 3, title: 'Rechnung ist falsch' })
})
