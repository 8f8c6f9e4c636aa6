/** Sealed texts open with the same key and in the same context only. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSeal } from '../../src/platform/secrets/seal.ts'

const folder = mkdtempSync(join(tmpdir(), 'earshot-seal-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const TEXT = 'https://zoom.us/j/1234567890?pwd=geheim ü'
const secret = (value: string) => ({ dataDir: folder, secretKey: value.repeat(43) })
const withFile = (name: string) => createSeal({ dataDir: folder, secretKey: null }, name, 'test')

describe('a sealed text', () => {
  test('opens in another process with the same secret, and shows nothing', async () => {
    const sealed = await createSeal(secret('a'), 'meetings', 'test').seal(TEXT, 'row 1')
    expect(Buffer.from(sealed).includes('geheim')).toBe(false)
    expect(await createSeal(secret('a'), 'meetings', 'test').open(sealed, 'row 1')).toBe(TEXT)
  })

  test('is different each time', async () => {
    const seal = createSeal(secret('a'), 'meetings', 'test')
    expect(await seal.seal(TEXT, 'row 1')).not.toEqual(await seal.seal(TEXT, 'row 1'))
  })

  test('opens with the key in the file, also for another process', async () => {
    const sealed = await withFile('one').seal(TEXT, 'row 1')
    expect(await withFile('one').open(sealed, 'row 1')).toBe(TEXT)
    expect(await withFile('two').open(sealed, 'row 1')).toBeNull()
  })

  test('does not open in another context, with another secret or purpose, or changed', async () => {
    const seal = createSeal(secret('a'), 'meetings', 'test')
    const sealed = Buffer.from(await seal.seal(TEXT, 'row 1'))
    expect(await seal.open(sealed, 'row 2')).toBeNull()
    expect(await createSeal(secret('b'), 'meetings', 'test').open(sealed, 'row 1')).toBeNull()
    expect(await createSeal(secret('a'), 'meetings', 'other').open(sealed, 'row 1')).toBeNull()
    for (const at of [0, 13, sealed.length - 1]) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] as number) ^ 1
      expect(await seal.open(changed, 'row 1')).toBeNull()
    }
    expect(await seal.open(new Uint8Array(3), 'row 1')).toBeNull()
  })
})
