/** Whether media can be stored, for `earshot doctor`: stores, reads and deletes one object. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { createStorage } from './create.ts'
import { withRemedy } from './s3-remedy.ts'
import { orReason } from './s3-until.ts'
import type { ObjectStore } from './storage.ts'

const CONTENT = 'written by earshot doctor'

/** @throws NeedsOperator with the remedy, another Error of the store, or the reason of the signal */
export async function examineStorage(
  config: Pick<Config, 'dataDir' | 's3'>,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const storage = createStorage(config)
  try {
    await orReason(signal, () => storage.assertWritable(signal))
    await tryObject(storage, signal)
  } finally {
    storage.close()
  }
  const { s3, dataDir } = config
  return { ok: true, detail: s3 === null ? `folder ${dataDir}` : `bucket ${s3.bucket}` }
}

async function tryObject(storage: ObjectStore, signal: AbortSignal): Promise<void> {
  const key = `doctor/${crypto.randomUUID()}`
  const folder = await mkdtemp(join(tmpdir(), 'earshot-doctor-'))
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
      await storage.delete([key], signal).catch((error) => Promise.reject(withRemedy(error, 'DeleteObject')))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
