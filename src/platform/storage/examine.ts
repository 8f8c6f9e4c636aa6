/** Whether media can be stored, for `earshot doctor`: stores, reads and deletes one object. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createStorage, type StorageSettings } from './create.ts'
import { withRemedy } from './s3-remedy.ts'
import type { ObjectStore } from './storage.ts'

const CONTENT = 'written by earshot doctor'
const DELETE_MS = 5_000

/** @throws NeedsOperator with the remedy, another Error of the store, or the reason of the signal */
export async function examineStorage(
  config: StorageSettings,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const storage = createStorage(config)
  try {
    const work = (async () => {
      await storage.assertWritable(signal)
      await tryObject(storage, join(config.dataDir, 'tmp'), signal)
    })()
    await Promise.race([work, ended(signal)])
  } finally {
    storage.close()
  }
  const { s3, dataDir } = config
  return { ok: true, detail: s3 === null ? `folder ${dataDir}` : `bucket ${s3.bucket}` }
}

/** @throws the reason of the signal */
function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

async function tryObject(storage: ObjectStore, parent: string, signal: AbortSignal): Promise<void> {
  const key = `doctor/${crypto.randomUUID()}`
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(parent, 'doctor-'))
  const file = join(folder, 'object')
  try {
    await writeFile(file, CONTENT)
    await storage
      .putFile(key, file, { contentType: 'text/plain', signal })
      .catch((error) => Promise.reject(withRemedy(error, 'PutObject')))
    try {
      const stream = await storage.read(key).catch((error) => Promise.reject(withRemedy(error, 'GetObject')))
      const read = await new Response(stream).text()
      if (read !== CONTENT) throw new Error('the object store returns other bytes than were stored')
    } finally {
      // Also after the signal.
      await storage
        .delete([key], AbortSignal.timeout(DELETE_MS))
        .catch((error) => Promise.reject(withRemedy(error, 'DeleteObject')))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
