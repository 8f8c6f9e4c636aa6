/** A limit holds although many requests come at once, through two services: what is counted is counted under a lock. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MAX_PUBLISHABLE_KEYS } from '../../src/access/identity/publishable-keys.ts'
import { MAX_OPEN_IMPORTS } from '../../src/hear/feedback/import-jobs/model.ts'
import { MAX_SOURCES } from '../../src/hear/importers/sources/model.ts'
import { MAX_WEBHOOKS } from '../../src/tell/webhooks/model.ts'
import { Objects } from '../support/at-once.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const MAX_WAITING_UPLOADS = 25
const BEYOND = 12

let first: TestServer
let second: TestServer
let third: TestServer
let fourth: TestServer
beforeAll(async () => {
  const env = { MAX_WAITING_UPLOADS: String(MAX_WAITING_UPLOADS), DATABASE_POOL_SIZE: '10' }
  first = await startTestServer({ env })
  second = await startTestServer({ beside: first, env })
  // Without a limit of uploads, nothing else locks what the limit of imports is counted by.
  const free = { ...env, MAX_WAITING_UPLOADS: '0' }
  third = await startTestServer({ beside: first, env: free })
  fourth = await startTestServer({ beside: first, env: free })
})
afterAll(async () => {
  await Promise.all([second?.stop(), third?.stop(), fourth?.stop()])
  await first?.stop()
})

interface Limit {
  readonly title: string
  readonly most: number
  readonly status: 409 | 429
  readonly path: (objects: Objects) => Promise<string> | string
  readonly body: (n: number) => object
  /** Without a limit of uploads. */
  readonly free?: boolean
}

const ofApplication = (part: string) => async (objects: Objects) =>
  `/v3/rest/agent-applications/${await objects.get('applicationId')}/${part}`

const LIMITS: readonly Limit[] = [
  {
    title: 'publishable keys of an application',
    most: MAX_PUBLISHABLE_KEYS,
    status: 409,
    path: ofApplication('publishable-keys'),
    body: () => ({ name: 'Page', origins: ['https://www.example.com'] }),
  },
  {
    title: 'import sources of an organization',
    most: MAX_SOURCES,
    status: 409,
    path: ofApplication('import-sources'),
    body: () => ({ provider: 'zendesk', url: 'https://example.zendesk.com', secret: 'x' }),
  },
  {
    title: 'imports that wait',
    most: MAX_OPEN_IMPORTS,
    status: 429,
    path: async (objects) => `/v3/rest/feedback-sources/${await objects.get('feedbackSourceId')}/imports`,
    body: () => ({ file_name: 'a.csv', file_size: 100 }),
    free: true,
  },
  {
    title: 'imports that wait, under keys of their own',
    most: MAX_OPEN_IMPORTS,
    status: 429,
    path: async (objects) => `/v3/rest/feedback-sources/${await objects.get('feedbackSourceId')}/imports`,
    body: (n) => ({ file_name: 'a.csv', file_size: 100, upload_key: `key ${n}` }),
  },
  {
    title: 'uploads of session files that wait',
    most: MAX_WAITING_UPLOADS,
    status: 429,
    path: () => '/v3/rest/coding-sessions/uploads',
    body: () => ({ fileName: 'session.jsonl', fileSize: 100 }),
  },
  {
    title: 'webhooks of an organization',
    most: MAX_WEBHOOKS,
    status: 409,
    path: () => '/v3/rest/webhooks',
    body: () => ({ url: 'https://example.com/', types: ['*'] }),
  },
]

for (const { title, most, status, path, body, free = false } of LIMITS)
  test(`${title}: ${most} at most`, async () => {
    const objects = new Objects(first, await first.createTenant())
    const address = await path(objects)
    const servers = free ? [third, fourth] : [first, second]
    const answers = await Promise.all(
      Array.from({ length: most + BEYOND }, (_, n) =>
        servers[n % 2]!.as({ apiKey: objects.tenant.apiKey }).post(address, body(n)),
      ),
    )
    const statuses = answers.map((answer) => answer.status)
    expect(statuses.filter((one) => one === 201).length).toBe(most)
    expect(statuses.filter((one) => one === status).length).toBe(BEYOND)
  })

test('uploads of media that wait', async () => {
  const objects = new Objects(first, await first.createTenant())
  const client = first.as({ apiKey: objects.tenant.apiKey })
  const recordings = await Promise.all(
    Array.from({ length: MAX_WAITING_UPLOADS + BEYOND }, () => client.post('/v3/rest/recordings', {})),
  )
  const answers = await Promise.all(
    recordings.map(({ body }, n) =>
      [first, second]
        [n % 2]!.as({ apiKey: objects.tenant.apiKey })
        .post(`/v3/rest/recordings/${body.id}/uploads`, {
          fileName: 'call.mp4',
          fileSize: 1_000,
        }),
    ),
  )
  expect(answers.filter((answer) => answer.status === 201).length).toBe(MAX_WAITING_UPLOADS)
})
