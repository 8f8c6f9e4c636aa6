/**
 * Where the objects of the folder store lie, and how a name becomes safe. Shared by what puts whole files and what takes bytes
 * over many requests, so that both mean the same by an object.
 */
import { open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { assertKey } from './keys.ts'
import type { ObjectInfo } from './storage.ts'

/** Of what is not an object yet; no key leads there, as no name in the store begins with a dot. */
export const INCOMING = '.incoming'

export interface Located extends ObjectInfo {
  readonly path: string
}

/** Where the object has its name. @throws InvalidKey */
export function targetOf(folder: string, key: string, contentType: string): string {
  return `${stemOf(folder, key)}@${fileNameOf(contentType)}`
}

/** Path without the part that has the content type. */
function stemOf(folder: string, key: string): string {
  assertKey(key)
  return join(folder, ...key.split('/').map(fileNameOf))
}

/** Letters, digits, `-`, `_` and dots that do not lead stay; everything else is written as bytes. */
function fileNameOf(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /^\.|[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** null where there is no such object. @throws InvalidKey */
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

/** Not only the content: a name is safe when its folder is on the disk, and so on up to the root of the store. */
export async function syncFolders(from: string, root: string): Promise<void> {
  for (let folder = from; folder.length >= root.length; folder = dirname(folder)) await sync(folder)
}

/** Of a file: the content. Of a folder: the names in it. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

export function isErrno(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
