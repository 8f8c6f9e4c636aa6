/** What a client and an operator are told while the database or the object store does not answer, refuses the service or is full. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { toAppError } from '../../src/http/error-handler.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { isServerAway } from '../../src/platform/db/sqlstate.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import type { S3Config } from '../../src/platform/storage/s3-config.ts'
import { runCommand } from '../support/command-line.ts'
import { testServer } from '../support/database.ts'

const DATABASE = 'The database cannot answer at the moment. Try again shortly.'
const AWAY = 'The object store cannot answer at the moment. Try again shortly.'
const REFUSED = 'The object store refuses the service. Try again shortly.'
const FULL = 'The object store is full. Try again later.'

/** The answer to a request that meets the error: status, message, seconds to wait. */
function answerTo(error: unknown) {
  const context = { path: '/v3/rest/x', requestId: 'r-1', now: new Date(0) }
  const { code, message, headers } = toAppError(error, context, createLog('silent', 'test'), ERRORS)
  return { status: ERRORS.codes[code], message, wait: headers['retry-after'] }
}

const failureOf = (work: PromiseLike<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

const withUser = (user: string) => {
  const url = new URL(testServer('TEST_DATABASE_URL'))
  url.username = user
  return url.href
}

test.each([
  ['a name without an address', () => 'postgres://ada:hush@nothing.invalid/db', true],
  ['a port that nothing listens on', () => 'postgres://ada:hush@127.0.0.1:1/db', true],
  ['a role that was dropped', () => withUser('nobody_at_all'), false],
  ['a database that was dropped', () => `${testServer('TEST_DATABASE_URL')}_gone`, false],
])('of the database: %s', async (_, url, isAway) => {
  const sql = connect({ url: url() }, { max: 1, applicationName: 'test' })
  const error = await failureOf(sql`select 1`)
  await sql.end({ timeout: 0 })
  expect(answerTo(error)).toEqual({ status: 503, message: DATABASE, wait: '1' })
  // A start waits for what may pass, and ends at once for what settings must mend.
  expect(isServerAway(error)).toBe(isAway)
  const { code, err } = await runCommand(['org', 'list'], { DATABASE_URL: url() })
  expect(code).toBe(1)
  expect(err).toStartWith('earshot: The database cannot answer at the moment: ')
  expect(err).not.toContain('hush')
})

test('of a disk: it is full', async () => {
  const error = await failureOf(writeFile('/dev/full', 'x'))
  const full = { status: 507, message: 'The disk of the service is full. Try again later.', wait: '30' }
  expect(answerTo(error)).toEqual(full)
  // As the spool reports it.
  expect(answerTo(new Error('bytes could not be read', { cause: error }))).toEqual(full)
})

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'earshot-outages-'))
  await writeFile(join(folder, 'media'), 'x')
})
afterAll(() => rm(folder, { recursive: true }))

const xml = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`

const config = (endpoint: string): S3Config => ({
  bucket: 'media',
  region: 'us-east-1',
  endpoint,
  forcePathStyle: true,
  checksum: 'md5',
  credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
})

async function put(endpoint: string) {
  const store = createS3Store(config(endpoint), folder)
  const options = { contentType: 'audio/ogg', signal: AbortSignal.timeout(30_000) }
  try {
    return answerTo(await failureOf(store.putFile('one', join(folder, 'media'), options)))
  } finally {
    store.close()
  }
}

test.each([
  [403, 'AccessDenied', 503, REFUSED],
  [403, 'SignatureDoesNotMatch', 503, REFUSED],
  [404, 'NoSuchBucket', 503, REFUSED],
  [301, 'PermanentRedirect', 503, REFUSED],
  [400, 'AuthorizationHeaderMalformed', 503, REFUSED],
  [503, 'SlowDown', 503, AWAY],
  [507, 'InsufficientStorage', 507, FULL],
  [500, 'XMinioStorageFull', 507, FULL],
])('of the object store: %d %s', async (status, code, expected, message) => {
  using server = stopped(Bun.serve({ port: 0, fetch: () => new Response(xml(code), { status }) }))
  expect(await put(server.url)).toMatchObject({ status: expected, message, wait: expect.any(String) })
})

const stopped = (server: Bun.Server<undefined>) => ({
  url: server.url.origin,
  [Symbol.dispose]: () => void server.stop(true),
})

test('of the object store: it is not there', async () => {
  expect(await put('http://127.0.0.1:1')).toMatchObject({ status: 503, message: AWAY })
})

test('a request that the object store finds wrong is no outage', async () => {
  using server = stopped(
    Bun.serve({ port: 0, fetch: () => new Response(xml('InvalidArgument'), { status: 400 }) }),
  )
  expect(await put(server.url)).toMatchObject({ status: 500 })
})

test('the cause of an error of the service is logged', () => {
  const lines: unknown[] = []
  const log = { ...createLog('silent', 'test'), warn: (fields: unknown) => void lines.push(fields) }
  const cause = new Error('the certificate has expired')
  const context = { path: '/v3/rest/x', requestId: 'r-1', now: new Date(0) }
  const answer = (code: 'unavailable' | 'not_found') =>
    toAppError(new AppError(code, 'No.', { cause }), context, log as never, ERRORS)
  answer('not_found')
  expect(lines).toEqual([])
  answer('unavailable')
  expect(lines).toEqual([{ requestId: 'r-1', path: '/v3/rest/x', err: cause, code: 'unavailable' }])
})
