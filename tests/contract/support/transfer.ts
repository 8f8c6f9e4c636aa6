/**
 * A process that puts a file or reads an object, and prints by how many bytes its memory grew at most. A test can kill it,
 * and its memory contains nothing else.
 */

import { createFolderStore, type FolderStoreOptions } from '../../../src/platform/storage/folder.ts'
import { createS3Store } from '../../../src/platform/storage/s3.ts'
import type { S3Config } from '../../../src/platform/storage/s3-config.ts'

export interface Transfer {
  readonly store: { readonly s3: S3Config } | { readonly folder: FolderStoreOptions }
  readonly action: 'put' | 'read'
  readonly key: string
  /** The size of the file to put. */
  readonly path: string
}

if (import.meta.main) {
  const { store: options, action, key, path }: Transfer = JSON.parse(process.argv[2] ?? '')
  const store = 's3' in options ? createS3Store(options.s3) : createFolderStore(options.folder)
  // Warms up everything that is loaded on first use.
  await store.head(key)
  const before = process.memoryUsage.rss()
  let peak = before
  // The maximum that the system reports is not used: it may belong to the parent process.
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  let bytes = 0
  if (action === 'put') {
    await store.putFile(key, path, { contentType: 'video/mp4', signal: new AbortController().signal })
  } else {
    for await (const chunk of await store.read(key)) bytes += chunk.byteLength
  }
  clearInterval(watch)
  console.log(JSON.stringify({ growth: peak - before, bytes }))
  store.close()
}
