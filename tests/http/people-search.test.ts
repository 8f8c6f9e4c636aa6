/** `GET /v3/rest/people?q=`: people by parts of their name and address, in the normal form of the search. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createDirectory } from '../../src/people/directory.ts'
import { peopleMaintenance } from '../../src/people/maintenance.ts'
import { putPerson } from '../support/feedback.ts'
import { noting, prepare, type Reading, reading, type Statement } from '../support/plans.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let key: Client
beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
  const stranger = server.as({ apiKey: (await server.createTenant()).apiKey })
  await putPerson(key, { email: 'ada.lovelace@example.com', first_name: 'Ada', last_name: 'Lovelace' })
  await putPerson(key, { email: 'zoe@example.org', first_name: 'Zoë', last_name: 'Müller-Lüdenscheidt' })
  await putPerson(key, { email: 'taro@example.org', first_name: '太郎', last_name: '田中' })
  await putPerson(key, { email: 'hänsel@bücher.example', first_name: 'Hänsel' })
  await putPerson(key, { email: 'kei@xn--r8jz45g.example', first_name: 'Kei' })
  await putPerson(stranger, { email: 'ada@example.net', first_name: 'Ada', last_name: 'Lovelace' })
}, 300_000)
afterAll(() => server?.stop())

async function found(q: string): Promise<string[]> {
  const { status, body } = await key.get(`/v3/rest/people?q=${encodeURIComponent(q)}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.data.map(({ email }: { email: string }) => email.split('@')[0]).toSorted()
}

test.each([
  ['ada', ['ada.lovelace']],
  ['LOVE', ['ada.lovelace']],
  ['velac', ['ada.lovelace']],
  ['lovelace ada', ['ada.lovelace']],
  ['ada.lovelace@example.com', ['ada.lovelace']],
  ['example.org', ['taro', 'zoe']],
  ['zoe', ['zoe']],
  ['zoë'.normalize('NFD'), ['zoe']],
  ['ＭＵＬＬＥＲ', ['zoe']],
  ['müller-lüden', ['zoe']],
  ['田中', ['taro']],
  ['中', ['taro']],
  ['太郎', ['taro']],
  ['l', ['ada.lovelace', 'zoe']],
  ['ac', ['ada.lovelace']],
  ['bücher.example', ['hänsel']],
  ['bucher', ['hänsel']],
  ['büch', ['hänsel']],
  ['xn--bcher-kva.example', ['hänsel']],
  ['hänsel@bücher.example', ['hänsel']],
  ['hänsel@xn--bcher-kva.example', ['hänsel']],
  [`<mailto:hänsel@BÜCHER.example.>`.normalize('NFD'), ['hänsel']],
  ['例え', ['kei']],
  ['kei@例え.example', ['kei']],
  ['ada.lovelace@exam\u200bple.com', ['ada.lovelace']],
  ['mailto:ada.lovelace@example.com', ['ada.lovelace']],
  ['adam', []],
  ['%', []],
  ['_', []],
])('%s', async (q, people) => {
  expect(await found(q)).toEqual(people)
})

test.each([
  'hänsel@bücher.example',
  'HÄNSEL@bücher.example'.toLowerCase().normalize('NFD'),
  'hänsel@xn--bcher-kva.example',
  '<mailto:hänsel@bücher.example.>',
  'hänsel@bü\u200bcher.example',
])('the whole address %s', async (email) => {
  const { body } = await key.get(`/v3/rest/people?email=${encodeURIComponent(email)}`)
  expect(body.data).toMatchObject([{ email: 'hänsel@xn--bcher-kva.example' }])
})

test('participants of a recording are one person, however their address is written', async () => {
  const emails = [
    'gretel@bücher.example',
    ' <gretel@xn--bcher-kva.example> ',
    'mailto:gretel@bücher.example',
    'gretel@bü\u200bcher.example.',
    '\u200egretel@bücher.example'.normalize('NFD'),
  ]
  for (const email of emails) {
    const { status, body } = await key.post('/v3/rest/recordings', {
      displayName: 'Call',
      assetUrl: 'https://media.example.com/a.mp3',
      transcript: [{ startSec: 0, endSec: 1, speaker: 0, text: 'Hello.' }],
      participants: [{ speaker: 0, email }],
    })
    expect([status, body.errors]).toEqual([201, undefined])
  }
  expect(await found('gretel')).toEqual(['gretel'])
})

test('too long or empty is refused', async () => {
  for (const q of ['', 'x'.repeat(201)])
    expect((await key.get(`/v3/rest/people?q=${q}`)).body).toMatchObject({ code: 'validation_failed' })
})

test('names that others write are found at once as they are written, and soon in normal form', async () => {
  const { sql } = server.database
  await sql`
    update person set first_name = 'Bérénice', last_name = 'LeBrun'
    where organization_id = ${tenant.organizationId} and email = 'taro@example.org'`
  expect(await found('lebrun')).toEqual(['taro'])
  expect(await found('berenice')).toEqual([])
  await peopleMaintenance(server.deps)[0]?.run(new AbortController().signal)
  expect(await found('berenice')).toEqual(['taro'])
  expect(await found('田中')).toEqual([])
  expect(await sql`select 1 from person where search_words is null`).toHaveLength(0)
})

test('the index is read, and nobody of a neighbour', async () => {
  const { sql } = server.database
  const { organizationId } = await server.createTenant()
  await sql`
    insert into person (public_id, organization_id, email, search_words)
    select gen_random_uuid(), ${organizationId}, 'user' || n || '@example.com', 'user' || n || ' example com velac'
    from generate_series(1, 20000) n`
  await sql`vacuum analyze person`
  const { listPeople } = await import('../../src/people/directory.store.ts')
  const { personSearchOf } = await import('../../src/people/search.rules.ts')
  const position = { after: null, offset: 0, limit: 20 } as const
  const sent = listPeople(sql, tenant.organizationId, { search: personSearchOf('velac') }, position)
  expect(await sent).toHaveLength(1)
  const { rows, scanned } = await readingOf(sent)
  expect(scanned).toEqual([])
  expect(rows).toBeLessThan(30)
}, 120_000)

test('what everybody has in the name is found among the newest people, page by page, whatever its length', async () => {
  const { sql } = server.database
  const { organizationId, apiKey } = await server.createTenant()
  await sql`
    insert into person (public_id, organization_id, email, search_words, created_at)
    select gen_random_uuid(), ${organizationId}, 'u' || n || '@example.com', 'u' || n || ' example com',
      now() - n * interval '1 second'
    from generate_series(1, 20000) n`
  await sql`vacuum analyze person`
  const statements: (() => Statement | null)[] = []
  const reads = noting(server.deps.reads, (statement) => statements.push(statement))
  const directory = createDirectory({ ...server.deps, reads } as never)
  const { personSearchOf } = await import('../../src/people/search.rules.ts')
  for (const q of ['u', 'ex', 'com', 'u example']) {
    statements.length = 0
    const position = { after: null, offset: 0, limit: 20 } as const
    const found = await directory.list(organizationId, { search: personSearchOf(q) }, position)
    expect(found.map(({ email }) => email)).toEqual(
      Array.from({ length: 21 }, (_, n) => `u${n + 1}@example.com`),
    )
    let rows = 0
    for (const statement of statements.flatMap((one) => one() ?? []))
      rows += (await readingOfStatement(statement)).rows
    expect(rows).toBeLessThan(2_000)
  }
  const client = server.as({ apiKey })
  const seen: string[] = []
  const path = '/v3/rest/people?q=u199&limit=100'
  for (let next: string | null = ''; next !== null; ) {
    const { body }: { body: { data: { email: string }[]; next_cursor: string | null } } = await client.get(
      next === '' ? path : `${path}&cursor=${encodeURIComponent(next)}`,
    )
    seen.push(...body.data.map(({ email }) => email))
    next = body.next_cursor ?? null
  }
  // u199, u1990 to u1999, and u19900 to u19999.
  expect(new Set(seen).size).toBe(111)
  expect(seen).toHaveLength(111)
}, 120_000)

const readingOf = (sent: unknown) => {
  const { string, parameters } = sent as { string: string; parameters: { value: unknown }[] }
  return readingOfStatement({
    text: string,
    parameters: parameters.map((one) => ('value' in Object(one) ? one.value : one)),
  })
}

let prepared = 0
async function readingOfStatement(statement: Statement): Promise<Reading> {
  const name = `people_${++prepared}`
  const [result] = await server.database.sql.begin(async (tx) => {
    await prepare(tx as never, name, statement)
    return [await reading(tx as never, name, statement)]
  })
  return result as Reading
}
