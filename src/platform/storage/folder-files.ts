/**
 * Paths of objects in the folder store, and how a key becomes a safe file name. Used for whole files and for bytes that
 * arrive over many requests.
 */
import { open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { assertKey } from './keys.ts'
import type { ObjectInfo } from './storage.ts'

/** Folder of incomplete objects. No key leads there, because no name in the store begins with a dot. */
export const INCOMING = '.incoming'

export interface Located extends ObjectInfo {
  readonly path: string
}

/** Path of the object. @throws InvalidKey */
export function targetOf(folder: string, key: string, contentType: string): string {
  return `${stemOf(folder, key)}@${fileNameOf(contentType)}`
}

/** Path without the content type. */
function stemOf(folder: string, key: string): string {
  assertKey(key)
  return join(folder, ...key.split('/').map(fileNameOf))
}

/** Keeps letters, digits, `-`, `_` and dots that are not leading. Percent-encodes everything else. */
function fileNameOf(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /^\.|[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Null if there is no such object. @throws InvalidKey */
export async function locate(folder: string, key: string): Promise<Located | null> {
  const stem = stemOf(folder, key)
  const prefix = `${basename(stem)}@`
  try {
    const name = (await readdir(dirname(stem))).find((entry) => entry.startsWith(prefix))
    if (name === undefined) return null
    const path = join(dirname(stem), name)
    const { size } = await stat(path)
    return { path, size, contentType: decodeURIComponent(name.slice(prefix.length)) }
  } catch (error) {
    if (isErrno(error, ['ENOENT', 'ENOTDIR'])) return null
    throw error
  }
}

/** Syncs the folders up to the root of the store, because a name is durable only when its folder is on the disk. */
export async function syncFolders(from: string, root: string): Promise<void> {
  for (let folder = from; folder.length >= root.length; folder = dirname(folder)) await sync(folder)
}

/** Syncs the content of a file, or the names in a folder. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** True for an error of the system with one of the codes, such as `ENOENT`. */
export function isErrno(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
