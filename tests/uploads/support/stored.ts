/** The stored bytes of an upload, read in the same way as processing does. */

import { beginProcessing } from '../../../src/calls/uploads/processing.ts'
import type { Sql } from '../../../src/platform/db/pool.ts'
import { transaction } from '../../../src/platform/db/transaction.ts'
import type { ObjectStore } from '../../../src/platform/storage/storage.ts'

export interface Stored {
  readonly sql: Sql
  readonly storage: ObjectStore
}

/** Publishes the object of the upload and reads it. @throws Error if bytes are missing */
export async function storedBytes({ sql, storage }: Stored, uploadId: string): Promise<Uint8Array> {
  const upload = await transaction(sql, (tx) => beginProcessing(tx, uploadId))
  if (upload == null) throw new Error(`the upload ${uploadId} is not to be processed`)
  await storage.incoming.publish(upload.objectKey, upload.whole, 'application/octet-stream')
  return new Uint8Array(await new Response(await storage.read(upload.objectKey)).arrayBuffer())
}
