/** Creates the object store: S3 if `S3_BUCKET` is set, else the folder `DATA_DIR/media`. */

import { join } from 'node:path'
import type { Log } from '../observability/log.ts'
import { createFolderStore } from './folder.ts'
import { createS3Store } from './s3.ts'
import type { S3Config } from './s3-config.ts'
import type { ObjectStore } from './storage.ts'

export interface StorageSettings {
  readonly dataDir: string
  /** null: media is kept in `dataDir/media`. */
  readonly s3: S3Config | null
}

/** Opens nothing. `log` gets what no operation fails for. A store contacts its folder or server when it is first used. */
export function createStorage({ dataDir, s3 }: StorageSettings, log?: Log): ObjectStore {
  if (s3 !== null) return createS3Store(s3, join(dataDir, 'spool'), log)
  return createFolderStore({ folder: join(dataDir, 'media'), keyFile: join(dataDir, 'keys', 'playback.key') })
}
