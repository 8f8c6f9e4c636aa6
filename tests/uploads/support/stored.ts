/** The bytes of an upload as its object store has them, read the way that processing does. */
import type { Sql } from '../../../src/platform/db/pool.ts'
import { transaction } from '../../../src/platform/db/transaction.ts'
import type { ObjectStore } from '../../../src/platform/storage/storage.ts'
import { beginProcessing } from '../../../src/uploads/processing.ts'

export interface Stored {
  readonly sql: Sql
  readonly storage: ObjectStore
}

/** Makes the upload an object and reads it. @throws Error where bytes are missing still */
export async function storedBytes({ sql, storage }: Stored, uploadId: string): Promise<Uint8Array> {
  const upload = await transaction(sql, (tx) => beginProcessing(tx, uploadId))
  if (upload == null) throw new Error(`the upload ${uploadId} is not to be processed`)
  await storage.incoming.publish(upload.objectKey, upload.whole, 'application/octet-stream')
  return new Uint8Array(await new Response(await storage.read(upload.objectKey)).arrayBuffer())
}
