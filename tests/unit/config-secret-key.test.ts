/** The one secret that the keys of all processes may come from. */
import { expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'
import { createUploadTokens } from '../../src/calls/uploads/token.ts'
import { derivedKey } from '../../src/platform/secrets/derived-key.ts'

const SECRET = 'jXn2r5u8x/A?D(G+KbPeShVmYq3t6w9z$C&F)J@McQf'

test('SECRET_KEY has a minimum length, and errors do not reveal it', () => {
  expect(loadConfig({ SECRET_KEY: SECRET }).secretKey).toBe(SECRET)
  expect(loadConfig({}).secretKey).toBeNull()
  expect(() => loadConfig({ SECRET_KEY: 'hunter2' })).toThrow(
    'SECRET_KEY is (value hidden), but must be at least 43 characters',
  )
})

test('upload URLs are the same in every process with the same key, whatever its data folder', async () => {
  const id = crypto.randomUUID()
  const tokenOf = (dataDir: string, secretKey: string) => createUploadTokens({ dataDir, secretKey }).of(id)
  const token = await tokenOf('/nonexistent/one', SECRET)
  expect(await tokenOf('/nonexistent/two', SECRET)).toBe(token)
  expect(await tokenOf('/nonexistent/one', `${SECRET}!`)).not.toBe(token)
})

test('keys for different purposes differ', () => {
  expect(derivedKey(SECRET, 'one')).toHaveLength(32)
  expect(derivedKey(SECRET, 'one')).toEqual(derivedKey(SECRET, 'one'))
  expect(derivedKey(SECRET, 'one')).not.toEqual(derivedKey(SECRET, 'two'))
})
