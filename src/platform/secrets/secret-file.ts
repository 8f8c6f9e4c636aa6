/**
 * Secrets of the service that are made once and kept in a file.
 *
 * The rule: the file is complete or absent, readable by its owner only, and never replaced, so that processes that start
 * at once agree on one secret and what it signed outlives a restart.
 */
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** null where the file is not there. */
export async function readSecretFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** What the file has; writes what `make` gives where there is none. */
export async function ensureSecretFile(path: string, make: () => Promise<string> | string): Promise<string> {
  const existing = await readSecretFile(path)
  if (existing !== null) return existing
  await publish(path, await make())
  const published = await readSecretFile(path)
  if (published === null) throw new Error(`${path} disappeared while it was being made`)
  return published
}

/** `link` fails where the name exists, so the first of several processes wins and the others read its secret. */
async function publish(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${crypto.randomUUID()}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
    await link(temporary, path)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  } finally {
    await file.close()
    await unlink(temporary)
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
