/** Rows of a version whose vectors had 512 bytes: they have no vector until the actor makes another, and stay what people know them as. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TextJobs, TextWork } from '../../src/analysis/analyze/text-work.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { themeTitlesChange, themeVectorsChange } from '../../src/understand/themes/feed.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  addOrganization,
  addRecord,
  createThemesRunner,
  disagreements,
  type ThemesOptions,
  wordVectors,
} from '../support/themes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const TEXTS = [
  'password reset email never arrives',
  'my password reset email is missing',
  'no password reset email came',
  'invoice export crashes quickly',
  'the invoice export crashes',
  'invoice export crashes again badly',
]

/** Two themes, one item that a person moved, and one title that a person gave. */
async function open(options: ThemesOptions = {}) {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  for (const text of TEXTS) await addRecord(sql, organizationId, [{ text }])
  const themes = createThemesRunner(sql, organizationId, options)
  await themes.settle()
  const ids = async () =>
    (await sql`select id from theme_item where organization_id = ${organizationId} order by id`).map(
      ({ id }) => String(id),
    )
  await sql`
    update theme set title = 'Ours', title_by = 'person'
    where id = (select theme_id from theme_item where id = ${(await ids())[0]!})`
  const known = () => sql`
    select i.id, i.theme_id, i.score, i.locked, i.rating, i.occurred_at, t.title, t.title_by, t.count, t.terms
    from theme_item i join theme t on t.id = i.theme_id
    where i.organization_id = ${organizationId} order by i.id`
  const vectors = () => sql`
    select id, vector from theme_item where organization_id = ${organizationId} order by id`
  const age = async (some: readonly string[]) => {
    const centroid = Buffer.alloc(2_048)
    for (let place = 0; place < 512; place++) centroid.writeInt32LE(place - 200, place * 4)
    await sql`update theme_item set vector = ${Buffer.alloc(512, 9)}, vector_version = 1 where id = any(${some as string[]}::text[]::bigint[])`
    await sql`
      update theme set centroid = ${centroid}
      where id in (select theme_id from theme_item where id = any(${some as string[]}::text[]::bigint[]))`
  }
  return { sql, organizationId, themes, ids, known, vectors, age }
}

test('all rows of an earlier version get new vectors in the background, and themes stay', async () => {
  const { sql, organizationId, themes, ids, known, vectors, age } = await open()
  const [before, made] = [await known(), await vectors()]
  await sql`update theme_progress set vector_sum = null where organization_id = ${organizationId}`
  await age(await ids())
  await transaction(sql, async (tx) => themeVectorsChange.change(tx, await ids()))
  await themes.settle()
  expect(await known()).toEqual(before)
  expect(await vectors()).toEqual(made)
  expect(await disagreements(sql, organizationId)).toEqual([])
  await transaction(sql, async (tx) => themeVectorsChange.change(tx, await ids()))
  expect(await sql`select from theme_change where organization_id = ${organizationId}`).toHaveLength(0)
})

test('vectors that an earlier version made of other words get the ones of this version, and every sum is right', async () => {
  const textWork: TextWork = {
    run: (job, input, ...rest) => {
      const { texts } = input as TextJobs['embed']['input']
      return wordVectors.run(job, { texts: texts.map((text) => `${text} formerly`) } as never, ...rest)
    },
  }
  const { sql, organizationId, ids, known, vectors } = await open({ textWork })
  const [before, made] = [await known(), await vectors()]
  await sql`update theme_item set vector_version = 1 where organization_id = ${organizationId}`
  await transaction(sql, async (tx) => themeVectorsChange.change(tx, await ids()))
  await createThemesRunner(sql, organizationId).settle()
  expect(await known()).toEqual(before)
  const wanted = await wordVectors.run('embed', { texts: TEXTS }, new AbortController().signal)
  expect((await vectors()).map(({ vector }) => vector.toString('base64')).toSorted()).toEqual(
    wanted.toSorted(),
  )
  expect(await vectors()).not.toEqual(made)
  expect(await disagreements(sql, organizationId)).toEqual([])
})

test('titles that an earlier version chose are chosen anew with the new vectors, and those of people stay', async () => {
  const { sql, organizationId, themes, ids } = await open()
  for (const text of ['the password reset email is gone', 'the invoice export crashes today'])
    await addRecord(sql, organizationId, [{ text }])
  await themes.settle()
  const titles = () =>
    sql`select title, title_by from theme where organization_id = ${organizationId} order by id`
  const wanted = await titles()
  await sql`update theme set title = 'Former' where organization_id = ${organizationId} and title_by = 'terms'`
  await sql`update theme_item set vector_version = 1 where organization_id = ${organizationId}`
  const keys = (await sql`select id from theme where organization_id = ${organizationId}`).map(({ id }) => id)
  await transaction(sql, async (tx) => {
    await themeTitlesChange.change(tx, keys)
    await themeVectorsChange.change(tx, await ids())
  })
  await themes.settle()
  expect(await titles()).toEqual(wanted)
  expect(wanted.map(({ title }) => title)).toContain('Ours')
})

test('new findings join a theme whose vectors are old, by their words, and its sum is right before the old ones are made anew', async () => {
  const { sql, organizationId, themes, known, age } = await open()
  const [first] = await known()
  const old = (await known()).filter((row) => row.theme_id === first?.theme_id).map(({ id }) => String(id))
  await age(old)
  const { recordId } = await addRecord(sql, organizationId, [
    { text: 'password reset email is missing here' },
  ])
  await themes.settle()
  const [joined] = await sql`select theme_id from theme_item where subject_id = ${String(recordId)}`
  expect(joined?.theme_id).toBe(first?.theme_id)
  expect(await disagreements(sql, organizationId)).toEqual(['the sum of all vectors is another'])
  await transaction(sql, (tx) => themeVectorsChange.change(tx, old))
  await themes.settle()
  expect(await disagreements(sql, organizationId)).toEqual(['the sum of all vectors is another'])
})

test('a theme that a process of the earlier version changed gets the sum of its members', async () => {
  const { sql, organizationId, themes, ids, age } = await open()
  const [, second] = await ids()
  const [row] = await sql`
    select subject_id, vector from theme_item where id = ${second!}`
  await age([second!])
  // That version did not count the item in the sum of all.
  const sum = (await sql`select vector_sum from theme_progress where organization_id = ${organizationId}`)[0]
    ?.vector_sum
  for (const [place, x] of new Int8Array(row?.vector.buffer, row?.vector.byteOffset, 256).entries())
    sum.writeInt32LE(sum.readInt32LE(place * 4) - x, place * 4)
  sum.writeInt32LE(sum.readInt32LE(256 * 4) - 1, 256 * 4)
  await sql`update theme_progress set vector_sum = ${sum} where organization_id = ${organizationId}`
  await transaction(sql, (tx) => themeVectorsChange.change(tx, [second!]))
  await themes.settle()
  expect(await disagreements(sql, organizationId)).toEqual([])
  await sql`delete from feedback_record where id = ${row?.subject_id}::bigint`
  await themes.settle()
  expect(await disagreements(sql, organizationId)).toEqual([])
})
