/**
 * The object store in a folder, for a service with one disk, or several processes that share a disk.
 *
 * An object is one file. It gets its name when it is completely on the disk. The name contains the content type, so that
 * both appear at once: `recordings/<id>/1/source@video%2Fmp4`. Elsewhere `@` is written `%40`, so no other name collides.
 * Incomplete files are in `.incoming`, which no look-up reads.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { link, mkdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ensureSecretFile } from '../secrets/secret-file.ts'
import { INCOMING, isErrno, locate, sync, syncFolders, targetOf } from './folder-files.ts'
import { createFolderIncoming, sweepFolder } from './folder-incoming.ts'
import { assertKey } from './keys.ts'
import { signedPath, verifiedGrant } from './signature.ts'
import { ObjectMissing, type ObjectStore, type PutOptions } from './storage.ts'
import { assertFolderWritable } from './writable.ts'

export interface FolderStoreOptions {
  /** Absolute. Created with the first object. */
  readonly folder: string
  /** File of the secret that signs playback URLs. Created when first needed. */
  readonly keyFile: string
}

/** Reads the secret of playback URLs when the first URL is signed or checked. */
export function createFolderStore({ folder, keyFile }: FolderStoreOptions): ObjectStore {
  let secret: Promise<Buffer> | null = null
  const readSecret = () => {
    secret ??= ensureSecretFile(keyFile, newSecret).then((text) => Buffer.from(text, 'base64url'))
    secret.catch(() => {
      secret = null
    })
    return secret
  }
  const existing = async (key: string) => {
    const located = await locate(folder, key)
    if (located === null) throw new ObjectMissing(key)
    return located
  }
  return {
    name: 'folder',
    // The disk reports when it is full, and file systems limit the size of a file.
    maxBytes: Number.MAX_SAFE_INTEGER,
    putFile: (key, path, options) => put(folder, key, path, options),
    async head(key) {
      const located = await locate(folder, key)
      return located === null ? null : { size: located.size, contentType: located.contentType }
    },
    async read(key, range) {
      const file = Bun.file((await existing(key)).path)
      return (range === undefined ? file : file.slice(range.start, range.end)).stream()
    },
    async delete(keys) {
      for (const key of keys) await remove(folder, key)
    },
    async localFile(key, _, signal) {
      signal.throwIfAborted()
      return { path: (await existing(key)).path, release: async () => {} }
    },
    incoming: createFolderIncoming(folder),
    sweep: (before, awaited, signal) => sweepFolder(folder, before, awaited, signal),
    async playbackUrl(key, { contentType, fileName, expiresAt, baseUrl }) {
      assertKey(key)
      const expires = Math.floor(expiresAt.getTime() / 1_000)
      return `${baseUrl}${signedPath(await readSecret(), { key, contentType, fileName, expires })}`
    },
    async playback(key, query, now) {
      const grant = verifiedGrant(await readSecret(), key, query, now)
      if (grant === null) return null
      const { path, size } = await existing(key)
      return { path, size, contentType: grant.contentType, fileName: grant.fileName }
    },
    assertWritable: () => assertFolderWritable(folder),
    close() {},
  }
}

function newSecret(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
}

async function put(folder: string, key: string, path: string, { contentType, signal }: PutOptions) {
  const target = targetOf(folder, key, contentType)
  signal.throwIfAborted()
  const incoming = join(folder, INCOMING)
  const staged = join(incoming, crypto.randomUUID())
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  try {
    await stage(path, staged, signal)
    await sync(staged)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    signal.throwIfAborted()
    await rename(staged, target)
    await syncFolders(dirname(target), folder)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    // After success the file is gone, unless the target is a hard link to it.
    await rm(staged, { force: true })
  }
}

/** Creates a hard link to the file if the disk supports it, else a copy. */
async function stage(path: string, staged: string, signal: AbortSignal): Promise<void> {
  try {
    await link(path, staged)
  } catch (error) {
    if (!isErrno(error, ['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'EACCES'])) throw error
    await pipeline(createReadStream(path), createWriteStream(staged, { mode: 0o600 }), { signal })
  }
}

/** Also removes folders that become empty. */
async function remove(folder: string, key: string): Promise<void> {
  const located = await locate(folder, key)
  if (located === null) return
  await unlink(located.path).catch((error) => {
    if (!isErrno(error, ['ENOENT'])) throw error
  })
  for (let parent = dirname(located.path); parent.length > folder.length; parent = dirname(parent)) {
    try {
      await rmdir(parent)
    } catch {
      return
    }
  }
}
