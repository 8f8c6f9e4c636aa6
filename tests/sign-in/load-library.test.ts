/** The library of the authorization server writes a known warning to the console while it is loaded. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { KNOWN_WARNING, loadLibrary } from '../../src/access/sign-in/oauth/load-library.ts'

const ROOT = join(import.meta.dir, '../..')
type Library = Awaited<ReturnType<typeof loadLibrary>>

let written: unknown[][] = []
let spy: ReturnType<typeof spyOn>
let logged: unknown[] = []
const log = { debug: (fields: unknown) => void logged.push(fields) }

beforeEach(() => {
  ;[written, logged] = [[], []]
  spy = spyOn(console, 'warn').mockImplementation((...values: unknown[]) => void written.push(values))
})
afterEach(() => spy.mockRestore())

test('the known warning goes to the log, and warnings of other code to the console', async () => {
  const before = console.warn
  await loadLibrary(log, async () => {
    console.warn('%s is deprecated', 'a thing')
    console.warn(`\x1b[31;1m${KNOWN_WARNING} Use another.\x1b[0m`)
    await Promise.resolve()
    console.warn(new Error('broken'))
    return {} as Library
  })
  expect(logged).toEqual([{ text: `\x1b[31;1m${KNOWN_WARNING} Use another.\x1b[0m` }])
  expect(written).toEqual([['%s is deprecated', 'a thing'], [new Error('broken')]])
  expect(console.warn).toBe(before)
})

test('the console is as before if the library cannot be loaded', async () => {
  const before = console.warn
  const loading = loadLibrary(log, () => Promise.reject(new Error('missing')))
  await expect(loading).rejects.toThrow('missing')
  expect(console.warn).toBe(before)
})

test('the library writes nothing but the known warning', async () => {
  const child = Bun.spawn([process.execPath, '-e', "await import('oidc-provider')"], {
    cwd: ROOT,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  expect(out).toBe('')
  const lines = error.trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain(KNOWN_WARNING)
})
