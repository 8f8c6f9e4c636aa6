/** A theme that a person changes while the machine merges it: the change is for the theme that has the items afterwards. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { transaction } from '../../src/platform/db/transaction.ts'
import {
  keptThemes,
  lockProgress,
  lockThemes,
  mergeThemes,
} from '../../src/understand/themes/themes.store.ts'
import { insertTheme } from '../support/insert-theme.ts'
import { waitUntilBlockedBy } from '../support/mailboxes.ts'
import { type Answer, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.stop())

test('a title that arrives during a merge is that of the kept theme', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const { sql } = server.database
  const { themeId, otherThemeId } = await insertTheme(sql, organizationId)
  let answer: Promise<Answer> | null = null
  await transaction(sql, async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    // As the machine does it.
    await lockProgress(tx, organizationId)
    await lockThemes(tx, organizationId, [themeId, otherThemeId])
    await mergeThemes(tx, organizationId, themeId, otherThemeId)
    answer ??= server
      .as({ apiKey })
      .patch(`/v3/rest/themes/${themeId}`, { title: 'Exports crash', pinned: true })
    await waitUntilBlockedBy(sql, pid)
  })
  expect(await answer!).toMatchObject({
    status: 200,
    body: { id: otherThemeId, title: 'Exports crash', pinned: true },
  })
  expect((await keptThemes(sql, organizationId, [themeId])).get(themeId)).toBe(otherThemeId)
})

test('a theme that was given a title before the machine locks it is not merged', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const { sql } = server.database
  const { themeId, otherThemeId } = await insertTheme(sql, organizationId)
  let locked: Promise<readonly { readonly id: string; readonly isKept: boolean }[]> | null = null
  await transaction(sql, async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await tx`update theme set title_by = 'person' where id = ${themeId}`
    locked ??= transaction(sql, (other) => lockThemes(other, organizationId, [themeId, otherThemeId]))
    await waitUntilBlockedBy(sql, pid)
  })
  expect((await locked!).find(({ id }) => id === themeId)?.isKept).toBe(true)
  expect((await server.as({ apiKey }).get(`/v3/rest/themes/${themeId}`)).status).toBe(200)
})
