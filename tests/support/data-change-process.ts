/** A process that runs the data change of `tests/platform/data-change.test.ts` until it is killed. */
import { runDataChange } from '../../src/platform/db/data-change.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { doubling } from './data-change.ts'

const [url = ''] = process.argv.slice(2)
const sql = connect({ url }, { max: 1, applicationName: 'data-change' })
await runDataChange(sql, doubling, {
  runner: crypto.randomUUID(),
  stopping: new AbortController().signal,
  leaseMs: 300,
  pauseRatio: 2,
})
await sql.end({ timeout: 5 })
