/**
 * Any text is found by any of its words, in any normal form, with and without accents, and by any part between spaces as it stands. Asked of
 * PostgreSQL with what search and the list of recordings ask.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseSearch } from '../../src/calls/transcripts/search.rules.ts'
import { indexedText } from '../../src/understand/search/passage.rules.ts'
import { parsedOf, queryText, searchTextOf, textsOf } from '../../src/understand/search/query.rules.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
}, 300_000)
afterAll(() => database?.drop())

/** Whether search, and the list of recordings, find the text. Words of the configuration `simple` are never left out. */
async function isFound(text: string, query: string): Promise<readonly boolean[]> {
  const { sql } = database
  const asked = searchTextOf(query)
  const texts = textsOf(asked)
  const [parsed] = await sql<{ queries: string[] }[]>`
    select array(
      select phraseto_tsquery('simple', t.text)::text
      from unnest(${texts as string[]}::text[]) with ordinality as t (text, n)
      order by n
    ) as queries`
  const words = queryText(parsedOf(asked, 'simple', parsed?.queries ?? []))
  const terms = parseSearch(query)?.all ?? []
  const [row] = await sql<{ search: boolean; list: boolean }[]>`
    select d.document @@ ${words}::text::tsquery as search,
      (select bool_and(d.document @@ to_tsquery('simple', term)) from unnest(${terms as string[]}::text[]) term) as list
    from (select to_tsvector('simple', ${indexedText(text)})) as d (document)`
  return [row?.search ?? false, row?.list ?? false]
}

const FOUND = [true, true]
const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const

test.each([
  ['The invoice/receipt is missing', 'receipt'],
  ['The invoice/receipt is missing', 'invoice/receipt'],
  ['login/logout fails', 'logout'],
  ['It is broken.Please help', 'Please'],
  ['It is broken.Please help', 'broken'],
  ['See /var/log/app/error.log', 'error.log'],
  ['See /var/log/app/error.log', '/var/log'],
  ['Open https://example.com/a/b?x=1&y=2#top now', 'https://example.com/a/b?x=1&y=2#top'],
  ['Open https://example.com/a/b?x=1 now', 'example.com'],
  ['Write to ada.lovelace@example.com', 'ada.lovelace@example.com'],
  ['Write to ada.lovelace@example.com', 'lovelace'],
  ['a,b;c:d|e', 'c'],
  ['user_id=42', 'user_id'],
  ['(urgent)', 'urgent'],
  ['The e-mail', 'email'],
  ['The email', 'e-mail'],
  ['Don’t', "don't"],
  ['Don`t', 'dont'],
  ["O'Brien", 'obrien'],
  ['well‑known', 'well-known'],
  ['ＦＵＬＬ　ＷＩＤＴＨ', 'width'],
  ['full', 'ＦＵＬＬ'],
  ['ｶﾞｯｺｳﾃﾞｽ', 'ガッコウ'],
  ['ガッコウです', 'ｶﾞｯｺｳ'],
  ['the ﬁrst ofﬁce', 'office'],
  ['한국어 영수증', '영수증'.normalize('NFD')],
  ['한국어 영수증'.normalize('NFD'), '영수증'],
  ['2026年5月分の請求', '5月'],
  ['5月', '5月'],
  ['A社の請求', 'A社'],
  ['株式会社A', '会社A'],
  ['田', '田'],
  ['請求書', '書'],
  ['第3回', '3回'],
  ['facture réglée', 'reglee'],
  ['facture reglee', 'réglée'],
  ['facture réglée'.normalize('NFD'), 'réglée'],
  ['Straße', 'strasse'],
  ['Smørrebrød', 'smorrebrod'],
  ['Łódź', 'lodz'],
  ['İstanbul', 'istanbul'],
  ['ΟΔΟΣ', 'οδος'],
  ['счёт', 'счет'],
  ['مُدَرِّس', 'مدرس'],
  ['exam\u00adple', 'example'],
  ['zero\u200bwidth', 'zerowidth'],
  ['Foo™ works', 'foo'],
  ['9 m² large', 'm2'],
  ['note¹ here', 'note'],
  ['5㌔です', '5キロ'],
  ['ไม่สามารถเข้าสู่ระบบ', 'เข้าสู่ระบบ'],
  ['1.5e10', '1.5e10'],
  ['version 2.0.1-beta', '2.0.1-beta'],
])('%j is found by %j', async (text, query) => {
  expect(await isFound(text, query)).toEqual(FOUND)
})

test.each([
  ['A社員B', 'A社B'],
  ['請求', '求請'],
  ['invoice', 'receipt'],
  ['for', 'fur'],
])('%j is not found by %j', async (text, query) => {
  expect(await isFound(text, query)).toEqual([false, false])
})

/** Words of many scripts, what joins and separates them, and characters that normal forms change. */
const UNIT = fc.oneof(
  fc.constantFrom(
    ...[
      'invoice',
      'Réglée',
      'Größe',
      'naïve',
      'login',
      'œuvre',
      'счёт',
      'ΟΔΟΣ',
      '請求書',
      '月',
      '会社',
      'エクスポート',
    ],
    ...['ｶﾞｯｺｳ', 'ﬁne', 'ＡＢ', '한국어', 'ไม่ได้', 'مُدَرِّس', 'ǆ', '5', '42', 'x²', '½', '™', '㌔', '①', 'É'],
  ),
  fc.constantFrom(...'/.,:;-_@#?&=+’\'"()[]{}<>!…·、。／－'),
  fc.constantFrom(' ', ' ', '\n', '\u3000', '\u00a0'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
)
const TEXT = fc.array(UNIT, { minLength: 1, maxLength: 20 }).map((units) => units.join(''))
/** Forms that keep where a word ends: in the others, `Foo™` is `FooTM`. */
const CANONICAL = ['NFC', 'NFD'] as const

const ofText = (pattern: RegExp, forms: readonly (typeof FORMS)[number][], only = /[\p{L}\p{N}]/u) =>
  fc
    .tuple(TEXT, fc.constantFrom(...CANONICAL), fc.constantFrom(...forms), fc.nat())
    .map(([text, stored, asked, n]) => {
      const parts = (text.match(pattern) ?? []).filter((part) => only.test(part) && !/^or$/i.test(part))
      return {
        text: text.normalize(stored),
        query: parts[n % Math.max(parts.length, 1)]?.normalize(asked) ?? null,
      }
    })
    .filter(({ query }) => query !== null && /[\p{L}\p{N}]/u.test(query))

const WORD = /[\p{L}\p{Nd}\p{Nl}][\p{L}\p{M}\p{Nd}\p{Nl}]*/gu

test.each([
  ['word', WORD, FORMS],
  ['part between spaces', /[^\s\p{Z}"＂]+/gu, CANONICAL],
])('property: a text is found by any %s of it, in any normal form', async (_, pattern, forms) => {
  await fc.assert(
    fc.asyncProperty(ofText(pattern, forms), async ({ text, query }) => {
      // A minus sign at the beginning excludes.
      const asked = (query ?? '').replace(/^[-－﹣]+/, '')
      expect(await isFound(text, asked)).toEqual(FOUND)
    }),
    { numRuns: 400 },
  )
})

test('property: a text is found by its words without their accents', async () => {
  await fc.assert(
    fc.asyncProperty(ofText(WORD, FORMS, /^\p{Script=Latin}+$/u), async ({ text, query }) => {
      const plain = (query ?? '').normalize('NFD').replace(/\p{M}/gu, '')
      expect(await isFound(text, plain)).toEqual(FOUND)
    }),
    { numRuns: 200 },
  )
})
