/** Titles of themes: a quotation that everybody may see and that names nobody, else words; no two are equal. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { type Quotable, quotedTitles, sentenceOf } from '../../src/understand/themes/quotation.rules.ts'
import { DIMENSIONS, SCALE } from '../../src/understand/themes/vector.rules.ts'
import { stemsOf } from '../../src/understand/themes/words.rules.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { addOrganization, addRecord, createThemesRunner } from '../support/themes.ts'

const finish = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function open(texts: readonly string[]) {
  const { sql } = database
  const organizationId = await addOrganization(sql)
  const records: number[] = []
  for (const text of texts) records.push((await addRecord(sql, organizationId, [{ text }])).recordId)
  const themes = createThemesRunner(sql, organizationId)
  await themes.settle()
  const shown = async () => {
    const [row] = await sql`
      select theme_title(t) as title, t.title as stored, t.words, t.quoted_id, t.title_by from theme t
      where t.organization_id = ${organizationId} and merged_into is null`
    return row!
  }
  return { sql, organizationId, records, themes, shown }
}

const RESET = [
  'My password reset email is missing.',
  'No password reset email came, says Bob',
  'password reset email 123456 never arrives',
]

test('the title is the quotation that names nobody, and the words are beside it', async () => {
  const { shown } = await open(RESET)
  expect(await shown()).toMatchObject({
    title: 'My password reset email is missing',
    words: expect.stringContaining('password'),
    title_by: 'terms',
  })
})

test('after the quoted record is deleted, the words are shown at once, and then another title', async () => {
  const { sql, records, themes, shown } = await open([...RESET, 'The password reset email is late.'])
  const { title: before, quoted_id } = await shown()
  const [finding] = await sql`select feedback_record_id as id from agent_signal where id = ${quoted_id}`
  expect(records).toContain(Number(finding?.id))
  await sql`delete from feedback_record where id = ${finding?.id}`
  const between = await shown()
  expect(between.title).toBe(between.words)
  await themes.settle()
  const after = await shown()
  expect(after.stored).not.toBe(before)
  expect(after.quoted_id).not.toBe(quoted_id)
})

test('what not every member may see is not quoted', async () => {
  const { sql } = database
  const { organizationId, shown } = await open(RESET)
  const { quoted_id } = await shown()
  const applicationId = newId()
  await sql`
    insert into agent_application (id, organization_id, agent_key, name, settings_version)
    values (${applicationId}, ${organizationId}, 'agent', 'Agent', 1)`
  const giveAccess = (type: string) => sql`
    insert into agent_application_settings (organization_id, application_id, version, settings)
    values (${organizationId}, ${applicationId}, 1, ${sql.json({ conversationAccess: { type, userIds: [] } })})
    on conflict (application_id, version) do update set settings = excluded.settings`
  const isQuotable = async (place: Readonly<Record<string, string | null>>) => {
    const [row] = await sql`
      select theme_quotable(jsonb_populate_record(g, ${sql.json({ feedback_record_id: null, ...place })})) as is
      from agent_signal g where g.id = ${quoted_id}`
    return row?.is
  }
  await giveAccess('workspace')
  expect(await isQuotable({ application_id: applicationId })).toBe(true)
  await giveAccess('users')
  expect(await isQuotable({ application_id: applicationId })).toBe(false)
  expect(await isQuotable({ recording_id: newId() })).toBe(false)
})

test('a title that may not be shown any more is replaced when the pool is linked', async () => {
  const { sql, organizationId, themes, shown } = await open(RESET)
  const { title } = await shown()
  await sql`
    update theme set quoted_id = ${newId()}, title = 'Said in private' where organization_id = ${organizationId}`
  expect((await shown()).title).not.toBe('Said in private')
  await themes.run('link')
  await themes.drain()
  expect(await shown()).toMatchObject({ title, stored: title })
})

test('two themes with the same words have different titles, and a title of a person stays', async () => {
  const { sql, organizationId, themes, shown } = await open(RESET)
  const first = await shown()
  const other = newId()
  await sql`
    insert into theme (id, organization_id, title, title_by, centroid)
    values (${other}, ${organizationId}, ${first.title}, 'person', ${Buffer.alloc(2_048)})`
  const [own] = await sql`select id from theme where organization_id = ${organizationId} and id <> ${other}`
  await themes.run('retitle', { themeId: own?.id })
  const titles = await sql`select id, title from theme where organization_id = ${organizationId}`
  expect(new Set(titles.map(({ title }) => title)).size).toBe(2)
  await themes.run('retitle', { themeId: other })
  expect((await sql`select title from theme where id = ${other}`)[0]?.title).toBe(first.title)
})

describe('of the quotations', () => {
  interface Some {
    readonly text: string
    readonly isOpen?: boolean
    readonly rating?: string | null
    readonly subject?: string
    /** The direction of its vector in a plane. Absent: no vector. */
    readonly degrees?: number
  }
  const vectorOf = (degrees: number | undefined) => {
    const vector = new Int8Array(DIMENSIONS)
    if (degrees !== undefined) {
      vector[0] = SCALE * Math.cos((degrees / 180) * Math.PI)
      vector[1] = SCALE * Math.sin((degrees / 180) * Math.PI)
    }
    return new Uint8Array(vector.buffer)
  }
  const quotation = (
    { text, isOpen = true, rating = 'negative', subject, degrees }: Some,
    place: number,
  ): Quotable => ({
    signalId: `${place}`,
    text,
    subject: subject ?? `${place}`,
    rating,
    isOpen,
    vector: vectorOf(degrees),
    terms: stemsOf(text),
  })
  const surroundings = {
    items: 9,
    countOf: () => 9,
    mean: { vector: new Float32Array(DIMENSIONS), rest: 1 },
  }
  const titlesOf = (words: string, ...some: readonly (Some | string)[]) => {
    const quotations = some.map((one) => (typeof one === 'string' ? { text: one } : one)).map(quotation)
    return finish(quotedTitles(quotations, words, surroundings)).map(({ title }) => title)
  }

  test('only open ones are chosen, each sentence once', () => {
    const titles = titlesOf(
      'export · crashes',
      'The invoice export is slow',
      { text: 'The invoice export crashes', isOpen: false },
      'The export crashes',
      'the export crashes.',
    )
    expect(titles).toEqual(['The export crashes', 'The invoice export is slow'])
  })

  test('one in the middle of the largest group comes first, not one between two groups', () => {
    const titles = titlesOf(
      'export',
      { text: 'The export is late', degrees: 45 },
      { text: 'The export is slow', degrees: 5 },
      { text: 'Slow export of invoices', degrees: 0 },
      { text: 'Export takes an hour', degrees: 10 },
      { text: 'Export wants a minute', degrees: 12 },
      { text: 'The export crashes', degrees: 85 },
      { text: 'Crash of the export', degrees: 98 },
    )
    expect(titles[0]).toBe('The export is slow')
    expect(titles.indexOf('The export is late')).toBeGreaterThan(3)
  })

  test('passages of the same subject do not count for each other', () => {
    const loud = { subject: 'loud', degrees: 90 }
    const [first] = titlesOf(
      'export',
      ...['Export alpha', 'Export beta', 'Export gamma', 'Export delta'].map((text) => ({ ...loud, text })),
      { text: 'The export is slow', degrees: 20 },
      { text: 'Slow export of invoices', degrees: 0 },
      { text: 'Export takes an hour', degrees: 35 },
      { text: 'Export wants a minute', degrees: 40 },
    )
    expect(first).toBe('The export is slow')
  })

  test.each([
    ['praise is not quoted where most blame', 'negative', 'The export is slow'],
    ['blame is not quoted where most praise', 'positive', 'The export is lovely'],
    ['what is neither is quoted where most is neither', null, 'Where does the export start?'],
  ])('%s', (_, most, title) => {
    const titles = titlesOf(
      'export',
      { text: 'The export is slow', rating: 'negative' },
      { text: 'The export is lovely', rating: 'positive' },
      { text: 'Where does the export start?', rating: null },
      { text: 'Exported invoices', rating: most, isOpen: false },
    )
    expect(titles).toEqual([title])
  })

  test('both are quoted where as many blame as praise', () => {
    expect(
      titlesOf(
        'export',
        { text: 'The export is slow', rating: 'negative' },
        { text: 'The export is lovely', rating: 'positive' },
      ),
    ).toHaveLength(2)
  })

  test('of a large theme, one with a word that few others use comes later than one as near without', () => {
    const others = Array.from(
      { length: 20 },
      (): Some => ({
        text: 'invoice export crashes',
        degrees: 0,
        isOpen: false,
      }),
    )
    const some = [
      { text: 'The invoice export of giraffes crashes', degrees: 0 },
      { text: 'The invoice export crashes', degrees: 5 },
    ]
    expect(titlesOf('export', ...some, ...others)[0]).toBe('The invoice export crashes')
    expect(titlesOf('export', ...some, ...others.slice(0, 5))[0]).toBe(
      'The invoice export of giraffes crashes',
    )
  })

  test('a whole sentence comes before one as near that is cut', () => {
    const long = `The invoice export ${'crashes badly '.repeat(9)}`
    const some = [
      { text: long, degrees: 0 },
      { text: 'Invoice export crashes', degrees: 5 },
    ]
    const [first, second] = titlesOf('export', ...some, { text: 'export', degrees: 0, isOpen: false })
    expect([first, second]).toEqual(['Invoice export crashes', expect.stringContaining('…')])
  })

  test('those in capitals are left out', () => {
    expect(titlesOf('export', 'THE INVOICE EXPORT CRASHES', 'The PDF export is slow')).toEqual([
      'The PDF export is slow',
    ])
  })

  test('those without a word that tells the theme from others are left out', () => {
    expect(titlesOf('export', 'My browser shows nothing', 'The export shows nothing')).toEqual([
      'The export shows nothing',
    ])
    expect(titlesOf('Problems', 'My browser shows nothing')).toEqual(['My browser shows nothing'])
  })

  test('those that go on from another sentence come last', () => {
    const titles = titlesOf(
      'export · crashes',
      'but the export crashes',
      'Except the export crashes',
      'Invoice export',
    )
    expect(titles[0]).toBe('Invoice export')
    expect(titles).toHaveLength(3)
  })

  test.each(['Could the export do this, perhaps', 'Recover the export through that?', 'The export needs it'])(
    'those that point at another sentence come last: %s',
    (pointing) => {
      expect(titlesOf('export', pointing, 'Invoice export')[0]).toBe('Invoice export')
    },
  )

  test('those that name what they speak of do not', () => {
    const [first] = titlesOf('export', 'This export crashes', 'Slow export of old invoices')
    expect(first).toBe('This export crashes')
  })
})

describe('a sentence', () => {
  const known = () => true
  const unknown = (stem: string) => stem !== 'martha' && stem !== 'xyz'
  test.each([
    [
      'is the first that says something',
      'Hello. The invoice export crashes. Bye',
      known,
      'The invoice export crashes',
    ],
    [
      'is cut between words',
      `The invoice export ${'crashes badly '.repeat(9)}`,
      known,
      /^The invoice .{30,70}…$/,
    ],
    ['has no address', 'Invoice export crashes, mail me at ann@example.com', known, null],
    ['has no place of an address', 'Send the export to [email] please', known, null],
    ['has no number', 'Invoice export 48213 crashes', known, null],
    ['has no name', 'The invoice export crashes, says Martha', unknown, null],
    ['is not in capitals', 'INVOICE EXPORT CRASHES', known, null],
    ['has words of several', 'xyz export', (stem: string) => stem === 'none', null],
  ] as const)('%s', (_, text, isKnown, expected) => {
    const title = sentenceOf(text, isKnown)
    if (expected instanceof RegExp) expect(title).toMatch(expected)
    else expect(title).toBe(expected)
    expect(title?.length ?? 0).toBeLessThanOrEqual(80)
  })
})
