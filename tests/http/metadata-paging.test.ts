/** Paging of metadata (specification, "Limits"): plain arrays, `page` from 1, `limit` 1 to 100, 10 unless given. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  canonicalSource,
  createField,
  createSource,
  createTenant,
  SOURCES,
  startTestServer,
  type Tenant,
  type TestServer,
} from '../support/metadata.ts'

const COUNT = 24

interface List {
  readonly path: string
  /** Ids in the order of the list. */
  readonly ids: readonly string[]
}

let server: TestServer
let tenant: Tenant
const lists: Record<'sources' | 'fields', List> = {
  sources: { path: SOURCES, ids: [] },
  fields: { path: '', ids: [] },
}
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  const sources = [await canonicalSource(tenant.key)]
  for (let index = 1; index < COUNT; index++) sources.push(await createSource(tenant.key))
  const sourceId = sources[1] as string
  const fields: string[] = []
  for (let index = 0; index < COUNT; index++) fields.push(await createField(tenant.key, sourceId))
  lists.sources = { path: SOURCES, ids: sources }
  lists.fields = { path: `${SOURCES}/${sourceId}/fields`, ids: fields }
})
afterAll(() => server.stop())

const ids = (body: readonly { id: string }[]) => body.map(({ id }) => id)

describe.each(['sources', 'fields'] as const)('the list of %s', (name) => {
  test('is a JSON array of the first 10, oldest first, by default', async () => {
    const { path, ids: all } = lists[name]
    const { status, body } = await tenant.key.get(path)
    expect(status).toBe(200)
    expect(ids(body)).toEqual(all.slice(0, 10))
    expect((await tenant.user.get(`${path}?page=1&limit=10`)).body).toEqual(body)
  })

  test.each([1, 7, 10, 12, 24, 25, 100])(
    'is complete when read with limit %i until a short page',
    async (limit) => {
      const { path, ids: all } = lists[name]
      const found: string[] = []
      for (let page = 1; ; page++) {
        const { status, body } = await tenant.key.get(`${path}?page=${page}&limit=${limit}`)
        expect(status).toBe(200)
        found.push(...ids(body))
        if (body.length < limit) break
      }
      expect(found).toEqual([...all])
    },
  )

  test('neither repeats nor skips an item while others are created', async () => {
    const { path, ids: all } = lists[name]
    const first = await tenant.key.get(`${path}?limit=12`)
    const more = await (name === 'sources'
      ? createSource(tenant.key)
      : createField(tenant.key, path.split('/').at(-2) as string))
    const second = await tenant.key.get(`${path}?limit=12&page=2`)
    expect([...ids(first.body), ...ids(second.body)]).toEqual([...all])
    const third = await tenant.key.get(`${path}?limit=12&page=3`)
    expect(ids(third.body)).toEqual([more])
    lists[name] = { path, ids: [...all, more] }
  })

  test.each(['page=1000', 'page=1000000000000000', 'page=9007199254740991&limit=100'])(
    'is empty far past its end: %s',
    async (query) => {
      expect(await tenant.key.get(`${lists[name].path}?${query}`)).toMatchObject({ status: 200, body: [] })
    },
  )

  test.each([
    ['page=0', 'page', 'validation_failed'],
    ['page=-1', 'page', 'validation_failed'],
    ['page=1.5', 'page', 'validation_failed'],
    ['page=', 'page', 'validation_failed'],
    ['page=one', 'page', 'validation_failed'],
    ['page=1e3', 'page', 'validation_failed'],
    ['page=99999999999999999999', 'page', 'validation_failed'],
    ['limit=0', 'limit', 'validation_failed'],
    ['limit=101', 'limit', 'validation_failed'],
    ['limit=ten', 'limit', 'validation_failed'],
    ['limit=5&limit=6', 'limit', 'validation_failed'],
    ['cursor=abc', 'cursor', 'unknown_member'],
  ])('with %s is 400', async (query, path, code) => {
    const answer = await tenant.key.get(`${lists[name].path}?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { code, details: [{ path }] } })
  })

  test('with a page number beyond the safe integers is 400, and the message has the limit', async () => {
    const { status, body } = await tenant.key.get(`${lists[name].path}?page=9007199254740992`)
    expect([status, body.details[0].message]).toEqual([400, 'must be an integer from 1 to 9007199254740991'])
  })
})

test('a later page of sources includes the canonical source too', async () => {
  const fresh = await createTenant(server)
  const own = await createSource(fresh.key)
  const { body } = await fresh.key.get(`${SOURCES}?page=2&limit=1`)
  expect(ids(body)).toEqual([own])
})
