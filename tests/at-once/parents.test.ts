/**
 * A row that a request refers to is deleted between the look-up and the write. The deletion is held open until the request waits for it, and
 * then committed: the answer is 404.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { transaction } from '../../src/platform/db/transaction.ts'
import { type Change, changesOf, Objects, sendChange } from '../support/at-once.ts'
import { waitUntilBlockedBy } from '../support/mailboxes.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let changes: ReadonlyMap<string, Change>
beforeAll(async () => {
  server = await startTestServer({
    env: { DATABASE_POOL_SIZE: '10', PUBLIC_BASE_URL: 'https://earshot.example' },
  })
  const { body } = await server.as('nobody').get('/openapi.json')
  changes = new Map(changesOf(body).map((change) => [change.id, change]))
})
afterAll(() => server?.stop())

/** The operation, the table whose row is deleted, and the code; for traces the number of google.rpc.Code. */
const CASES: readonly (readonly [id: string, table: string, code: string | number])[] = [
  ['createFeedbackImport', 'feedback_source', 'feedback_source_not_found'],
  ['createFeedbackRecord', 'feedback_source', 'feedback_source_not_found'],
  ['createImportSource', 'agent_application', 'agent_application_not_found'],
  ['createPublishableKey', 'agent_application', 'agent_application_not_found'],
  ['traces', 'agent_application', 5],
  ['associateSession', 'coding_session', 'coding_session_not_found'],
  ['associateSession', 'project', 'project_not_found'],
  ['createUpload', 'recording', 'recording_not_found'],
  ['cancelUpload', 'recording', 'upload_not_found'],
  ['cancelFeedbackImport', 'feedback_source', 'feedback_import_not_found'],
  ['createMetadataField', 'metadata_source', 'metadata_source_not_found'],
  ['updateSelf', 'membership', 'member_not_found'],
]

test.each(CASES)('%s while its row of %s is deleted is 404', async (id, table, code) => {
  const change = changes.get(id)
  if (change === undefined) throw new Error(`no operation ${id}`)
  const objects = new Objects(server, await server.createTenant())
  const send = await sendChange(server.baseUrl, objects, change)
  const { sql } = server.database
  const memberId = await objects.get('memberId')
  let answer: Promise<string> | null = null
  await transaction(sql, async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    const gone = await tx`
        delete from ${tx(table)}
        where organization_id = ${objects.tenant.organizationId}
          and ${table === 'membership' ? tx`user_id = ${memberId}` : tx`true`}`
    expect(gone.count).toBe(1)
    answer ??= send()
    await waitUntilBlockedBy(sql, pid)
  })
  expect(await answer!).toBe(`404 ${code}`)
})
