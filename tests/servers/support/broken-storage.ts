/** An object store, and the disk before it, as they refuse media. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fill, mountSmallDisk, unmount } from '../../crash/support/small-disk.ts'
import type { S3Server } from '../../support/s3/server.ts'
import { type SetUp, startGate } from './set-up.ts'

const xml = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`

/** In front of the server: what S3 answers to requests without a permission, or to all that write while it is full. */
function gated(
  name: string,
  s3: () => S3Server,
  isRefused: (method: string, url: URL) => boolean,
  [status, code]: readonly [number, string] = [403, 'AccessDenied'],
): SetUp {
  return {
    name,
    check: 'storage',
    async begin(undo) {
      const gate = startGate(
        s3().config.endpoint as string,
        ({ method }, url) => isRefused(method, url),
        () => new Response(xml(code), { status, headers: { 'content-type': 'application/xml' } }),
      )
      undo(gate.stop)
      return { ...s3().env, S3_ENDPOINT: gate.url }
    },
  }
}

const isPut = (method: string) => method === 'PUT' || method === 'POST'

export const brokenStorage = (s3: () => S3Server, canMount: boolean): readonly SetUp[] => [
  {
    name: 'Nothing listens at `S3_ENDPOINT`',
    check: 'storage',
    begin: async () => ({ ...s3().env, S3_ENDPOINT: 'http://127.0.0.1:1' }),
  },
  {
    name: 'The bucket does not exist',
    check: 'storage',
    begin: async () => ({ ...s3().env, S3_BUCKET: 'nothing' }),
  },
  {
    name: 'The secret key of S3 is wrong',
    check: 'storage',
    begin: async () => ({ ...s3().env, AWS_SECRET_ACCESS_KEY: 'wrong' }),
  },
  {
    name: '`S3_REGION` is not the region of the bucket',
    check: 'storage',
    begin: async () => ({ ...s3().env, S3_REGION: 'eu-central-1' }),
  },
  gated('The access key may not put objects', s3, isPut),
  gated('The access key may not get objects', s3, (method) => method === 'GET'),
  gated(
    'The access key may not delete objects',
    s3,
    (method, url) => method === 'DELETE' && !url.searchParams.has('uploadId'),
  ),
  gated('The object store is full', s3, isPut, [507, 'InsufficientStorage']),
  {
    name: 'The disk of `DATA_DIR/spool` is full',
    check: 'storage',
    skip: !canMount,
    async begin(undo) {
      const disk = mountSmallDisk('20m') as string
      undo(() => unmount(disk))
      fill(join(disk, 'ballast'))
      return { ...s3().env, DATA_DIR: disk }
    },
  },
  {
    name: 'Media is kept in `DATA_DIR`, whose disk is full',
    check: 'storage',
    skip: !canMount,
    async begin(undo) {
      const disk = mountSmallDisk('20m') as string
      undo(() => unmount(disk))
      mkdirSync(join(disk, 'media'))
      fill(join(disk, 'ballast'))
      return { DATA_DIR: disk }
    },
  },
  {
    name: 'Media is kept in `DATA_DIR`, and `DATA_DIR/media` is a file',
    check: 'storage',
    async begin(undo) {
      const folder = mkdtempSync(join(tmpdir(), 'earshot-doctor-'))
      undo(() => rmSync(folder, { recursive: true }))
      writeFileSync(join(folder, 'media'), '')
      return { DATA_DIR: folder }
    },
  },
]
