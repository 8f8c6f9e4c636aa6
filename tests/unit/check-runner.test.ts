/** The check must not call something good that did not run: its runner, over test files that go wrong in every way. */
import { afterEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { durationsOf, expectedTimings, KNOWN, recordDurations } from '../../scripts/check/durations.ts'
import { runTests, selectTests } from '../../scripts/check/tests.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A project with these test files, and what the check counts in it. */
async function check(files: Readonly<Record<string, string | object>>, filters: readonly string[] = []) {
  const root = mkdtempSync(join(tmpdir(), 'earshot-runner-'))
  folders.push(root)
  for (const [name, body] of Object.entries(files))
    await Bun.write(
      join(root, 'tests', name),
      typeof body === 'string' ? `import { afterAll, test } from 'bun:test'\n${body}` : JSON.stringify(body),
    )
  const selected = selectTests(root, filters)
  return runTests(root, selected, { environment: {}, signal: new AbortController().signal, output: 'ignore' })
}

const GOOD = `test('good', () => {})`

test('passed, failed and skipped tests are counted, and failed ones named with their file', async () => {
  const counts = await check({
    'a.test.ts': `${GOOD}; test('bad <"&>', () => { throw new Error('no') }); test['skip']('later', () => {})`,
    'b.test.ts': GOOD,
  })
  expect(counts).toMatchObject({ passed: 2, skipped: 1, failed: ['tests/a.test.ts › bad <"&>'], broken: [] })
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

test('files that measure run at the end, and count like the others', async () => {
  const ends = `test('bad', () => { throw new Error('no') })`
  const counts = await check({ 'a.test.ts': GOOD, 'budget/b.test.ts': GOOD, 'budget/c.test.ts': ends })
  expect(counts).toMatchObject({ passed: 2, failed: ['tests/budget/c.test.ts › bad'], broken: [] })
  expect(counts.durations.map(({ file }) => file).sort()).toEqual([
    'tests/a.test.ts',
    'tests/budget/b.test.ts',
    'tests/budget/c.test.ts',
  ])
})

test('an error after the last test is a failure', async () => {
  const counts = await check({ 'a.test.ts': `${GOOD}; afterAll(() => { throw new Error('left running') })` })
  expect(counts.passed).toBe(1)
  expect(counts.failed).toHaveLength(1)
})

test('running no test is a failure', async () => {
  expect((await check({ 'a.test.ts': GOOD }, ['nothing-like-it'])).broken).toHaveLength(1)
})

test('arguments select files by a part of their path', async () => {
  const counts = await check({ 'a.test.ts': GOOD, 'http/b.test.ts': GOOD, 'http/c.test.ts': GOOD }, [
    './tests/http',
  ])
  expect(counts.passed).toBe(2)
})

test('every file that ran is listed with its actual time', async () => {
  const known = { 'tests/a.test.ts': 9_999 }
  const { durations } = await check({ 'a.test.ts': GOOD, 'b.test.ts': GOOD, 'durations.json': known })
  expect(durations.map(({ file }) => file).sort()).toEqual(['tests/a.test.ts', 'tests/b.test.ts'])
  for (const { seconds } of durations) expect(seconds).toBeLessThan(9_999)
})

test('the slowest files come first, and only those that ran', () => {
  const files = { 'a.test.ts': 20, 'b.test.ts': 3_000, 'c.test.ts': 1_500, 'gone.test.ts': 9_000 }
  const timings = JSON.stringify({ version: 1, files })
  expect(durationsOf(timings, new Set(['a.test.ts', 'b.test.ts', 'c.test.ts']))).toEqual([
    { file: 'b.test.ts', seconds: 3 },
    { file: 'c.test.ts', seconds: 1.5 },
    { file: 'a.test.ts', seconds: 0.02 },
  ])
})

test('long files are recorded, the longest first, and a known one keeps its number while it takes about as long', async () => {
  const root = mkdtempSync(join(tmpdir(), 'earshot-durations-'))
  folders.push(root)
  const known = { 'similar.test.ts': 20, 'slower.test.ts': 20, 'short.test.ts': 9, 'gone.test.ts': 30 }
  await Bun.write(join(root, KNOWN), JSON.stringify(known))
  const seconds = {
    'similar.test.ts': 28,
    'slower.test.ts': 31.4,
    'short.test.ts': 5,
    'new.test.ts': 8.2,
    'a.test.ts': 7.2,
  }
  recordDurations(
    root,
    Object.entries(seconds).map(([file, seconds]) => ({ file, seconds })),
  )
  expect(await Bun.file(join(root, KNOWN)).text()).toBe(
    '{\n  "slower.test.ts": 31,\n  "similar.test.ts": 20,\n  "new.test.ts": 8\n}\n',
  )
  expect(expectedTimings(root, ['slower.test.ts', 'a.test.ts']).files).toEqual({
    'slower.test.ts': 31_000,
    'a.test.ts': 2_000,
  })
})

test('the list of long files names existing files', async () => {
  const root = join(import.meta.dir, '../..')
  const known = Object.keys(await Bun.file(join(root, KNOWN)).json())
  expect(known.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('known long files start first', async () => {
  const begun = join(mkdtempSync(join(tmpdir(), 'earshot-begun-')), 'begun')
  folders.push(dirname(begun))
  const notes = (name: string) =>
    `import { appendFileSync } from 'node:fs'
     test('notes', () => { appendFileSync(${JSON.stringify(begun)}, '${name}\\n'); return Bun.sleep(50) })`
  const names = Array.from({ length: 24 }, (_, index) => `${index + 10}`)
  const files = Object.fromEntries(names.map((name) => [`${name}.test.ts`, notes(name)]))
  const known = { 'tests/20.test.ts': 50, 'tests/32.test.ts': 40 }
  const { passed } = await check({ ...files, 'durations.json': known })
  expect(passed).toBe(names.length)
  const order = (await Bun.file(begun).text()).trim().split('\n')
  expect(order.slice(0, order.length / 2)).toEqual(expect.arrayContaining(['20', '32']))
})
