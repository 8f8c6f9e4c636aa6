/**
 * Where a Unix socket may live. The address of a socket holds 103 bytes on every system that we run on (107 on Linux),
 * so a data folder with a long path keeps its sockets in a short folder under the temporary folder instead.
 *
 * The rule: the folder belongs to us and nobody else may enter it (mode 0700), because whoever reaches the socket is
 * let in without a password.
 */
import { chmodSync, chownSync, lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartError } from '../lifecycle/start-error.ts'

const MAX_SOCKET_PATH_BYTES = 103

/** Commas and colons separate hosts in connection settings, quotes and backslashes are special in PostgreSQL's. */
const AMBIGUOUS = /[,:"\\%]/

/**
 * `preferred` where `<preferred>/<longest socket name>` can be a socket's address, else a folder under the temporary
 * folder that is the same at every start.
 */
export function socketFolder(preferred: string, longestName: string): string {
  const fits = Buffer.byteLength(join(preferred, longestName)) <= MAX_SOCKET_PATH_BYTES
  if (fits && !AMBIGUOUS.test(preferred)) return preferred
  const digest = new Bun.CryptoHasher('sha256').update(preferred).digest('hex').slice(0, 16)
  return join(tmpdir(), `earshot-${digest}`)
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Creates the folder with mode 0700 for `owner`, or makes an existing one so.
 * @throws StartError where it belongs to a user who is none of `trusted`: a stranger may have put it there first
 */
export function privateFolder(folder: string, owner: Owner, trusted: readonly number[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stat = lstatSync(folder)
  if (!stat.isDirectory()) throw new StartError(`${folder} must be a folder, but is not`)
  if (!trusted.includes(stat.uid))
    throw new StartError(`${folder} belongs to user id ${stat.uid}: remove it, or choose another DATA_DIR`)
  if (stat.uid !== owner.uid || stat.gid !== owner.gid) chownSync(folder, owner.uid, owner.gid)
  if ((stat.mode & 0o777) !== 0o700) chmodSync(folder, 0o700)
}
