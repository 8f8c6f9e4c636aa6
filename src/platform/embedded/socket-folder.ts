/**
 * The folder of a Unix socket. A socket address holds 103 bytes on all supported systems (107 on Linux), so a data folder
 * with a long path keeps its sockets in a short folder under the temporary folder.
 *
 * Only this user may enter the folder (mode 0700), because the socket needs no password.
 */
import { chmodSync, chownSync, lstatSync, mkdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartError } from '../lifecycle/start-error.ts'

const MAX_SOCKET_PATH_BYTES = 103
const SHORT = 'earshot-'

/** Commas and colons separate hosts in connection settings, quotes and backslashes are special in PostgreSQL's. */
const AMBIGUOUS = /[,:"\\%]/

/**
 * `preferred` if `<preferred>/<longest socket name>` fits into a socket address, else a folder under the temporary
 * folder with a stable name.
 */
export function socketFolder(preferred: string, longestName: string): string {
  const fits = Buffer.byteLength(join(preferred, longestName)) <= MAX_SOCKET_PATH_BYTES
  if (fits && !AMBIGUOUS.test(preferred)) return preferred
  const digest = new Bun.CryptoHasher('sha256').update(preferred).digest('hex').slice(0, 16)
  return join(tmpdir(), `${SHORT}${digest}`)
}

/** Removes a folder that `socketFolder` has put under the temporary folder, once no socket is in it. Ignores any other folder. */
export function removeShortFolder(folder: string): void {
  if (!folder.startsWith(join(tmpdir(), SHORT))) return
  try {
    rmdirSync(folder)
  } catch {
    // Another process has a socket in it, or has removed it.
  }
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Creates the folder with mode 0700 for `owner`, or changes an existing one accordingly.
 * @throws StartError if it belongs to a user outside `trusted`, who may have planted it
 */
export function privateFolder(folder: string, owner: Owner, trusted: readonly number[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stat = lstatSync(folder)
  if (!stat.isDirectory()) throw new StartError(`${folder} must be a folder`)
  if (!trusted.includes(stat.uid))
    throw new StartError(`${folder} belongs to user id ${stat.uid}: remove it, or choose another DATA_DIR`)
  if (stat.uid !== owner.uid || stat.gid !== owner.gid) chownSync(folder, owner.uid, owner.gid)
  if ((stat.mode & 0o777) !== 0o700) chmodSync(folder, 0o700)
}
