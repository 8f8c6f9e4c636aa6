/** Logs must not contain the rows of failed statements. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { testServer } from '../support/database.ts'

const SOURCE = join(import.meta.dir, '..', '..', 'src', 'platform')

/** Logs the error of a refused row. It runs in a separate process, because the logger writes to standard error. */
const SCRIPT = `
  import { connect } from ${JSON.stringify(join(SOURCE, 'db', 'pool.ts'))}
  import { createLog } from ${JSON.stringify(join(SOURCE, 'observability', 'log.ts'))}
  const sql = connect({ url: process.env.TEST_DATABASE_URL }, { max: 1, applicationName: 'log-test' })
  const log = createLog('info', 'test')
  await sql.begin(async (tx) => {
    await tx\`create temp table canary (content text, missing int not null) on commit drop\`
    await tx\`insert into canary (content) values (\${'what was said'})\`
  }).catch((err) => log.error({ err }, 'refused'))
  await sql.end()`

test('the error of a refused row is logged without the row', async () => {
  const child = Bun.spawn([process.execPath, '-e', SCRIPT], {
    env: { ...process.env, TEST_DATABASE_URL: testServer('TEST_DATABASE_URL') },
    stderr: 'pipe',
  })
  const log = await new Response(child.stderr).text()
  expect(log).toContain('violates not-null constraint')
  expect(log).toContain('23502')
  expect(log).not.toContain('what was said')
})
