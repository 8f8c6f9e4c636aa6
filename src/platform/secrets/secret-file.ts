/**
 * Secrets of the service that are created once and stored in a file.
 *
 * The file is complete or absent, only its owner can read it, and it is never replaced. So processes that start at the same
 * time use the same secret, and signatures stay valid after a restart.
 */
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** null if the file does not exist. */
export async function readSecretFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** The content of the file. If it does not exist, it is created with the result of `make`. */
export async function ensureSecretFile(path: string, make: () => Promise<string> | string): Promise<string> {
  const existing = await readSecretFile(path)
  if (existing !== null) return existing
  await publish(path, await make())
  const published = await readSecretFile(path)
  if (published === null) throw new Error(`${path} disappeared during its creation`)
  return published
}

/** `link` fails if the name exists, so the first of several processes wins and the others read its secret. */
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
