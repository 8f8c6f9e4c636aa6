/** The check must not call something good that did not run: its runner, over test files that go wrong in every way. */
import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTests, selectTests } from '../../scripts/check/tests.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A project with these test files, and what the check counts in it. */
async function check(files: Readonly<Record<string, string>>, filters: readonly string[] = []) {
  const root = mkdtempSync(join(tmpdir(), 'earshot-runner-'))
  folders.push(root)
  for (const [name, body] of Object.entries(files))
    await Bun.write(join(root, 'tests', name), `import { afterAll, test } from 'bun:test'\n${body}`)
  const selected = selectTests(root, filters)
  return runTests(root, selected, {}, new AbortController().signal, 'ignore')
}

const GOOD = `test('good', () => {})`

test('passed, failed and skipped tests are counted, and failed ones named with their file', async () => {
  const counts = await check({
    'a.test.ts': `${GOOD}; test('bad <"&>', () => { throw new Error('no') }); test['skip']('later', () => {})`,
    'b.test.ts': GOOD,
  })
  expect(counts).toEqual({ passed: 2, skipped: 1, failed: ['tests/a.test.ts › bad <"&>'], broken: [] })
})

test('a file that does not load, holds no test or ends the process is a failure', async () => {
  const counts = await check({
    'a.test.ts': GOOD,
    'empty.test.ts': '',
    'ends.test.ts': `test('ends', () => process.exit(0))`,
    'load.test.ts': `import './missing.ts'\n${GOOD}`,
  })
  expect(counts.passed).toBe(1)
  expect(counts.broken.map(({ name }) => name)).toEqual(['tests/empty.test.ts', 'tests/load.test.ts'])
  expect(counts.failed.join()).toStartWith('tests/ends.test.ts › ')
})

test('what fails after the last test is a failure', async () => {
  const counts = await check({ 'a.test.ts': `${GOOD}; afterAll(() => { throw new Error('left running') })` })
  expect(counts.passed).toBe(1)
  expect(counts.failed).toHaveLength(1)
})

test('no test at all is a failure', async () => {
  expect((await check({ 'a.test.ts': GOOD }, ['nothing-like-it'])).broken).toHaveLength(1)
})

test('arguments select files by a part of their path', async () => {
  const counts = await check({ 'a.test.ts': GOOD, 'http/b.test.ts': GOOD, 'http/c.test.ts': GOOD }, [
    './tests/http',
  ])
  expect(counts.passed).toBe(2)
})
