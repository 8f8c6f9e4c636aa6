/** Where media is kept, as the settings say it. */
import { describe, expect, test } from 'bun:test'
import { loadConfig } from '../../src/app/config.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' }

describe('settings of the object store', () => {
  test('without S3_BUCKET media is in the folder, even if other variables are set', () => {
    expect(loadConfig({ ...KEYS, S3_ENDPOINT: 'http://s3.test' }).s3).toBeNull()
  })

  test('a bucket alone is on AWS, with the default credentials of the SDK', () => {
    expect(loadConfig({ S3_BUCKET: 'calls' }).s3).toEqual({
      bucket: 'calls',
      endpoint: null,
      region: 'us-east-1',
      forcePathStyle: false,
      checksum: 'md5',
      credentials: null,
    })
  })

  test('with S3_ENDPOINT the bucket is in the path by default; S3_FORCE_PATH_STYLE changes that', () => {
    const env = { ...KEYS, S3_BUCKET: 'calls', S3_ENDPOINT: 'https://s3.test/', AWS_REGION: 'auto' }
    expect(loadConfig(env).s3).toEqual({
      bucket: 'calls',
      endpoint: 'https://s3.test',
      region: 'auto',
      forcePathStyle: true,
      checksum: 'md5',
      credentials: { accessKeyId: 'id', secretAccessKey: 'hush' },
    })
    expect(loadConfig({ ...env, S3_FORCE_PATH_STYLE: 'false', S3_REGION: 'eu' }).s3).toMatchObject({
      forcePathStyle: false,
      checksum: 'md5',
      region: 'eu',
    })
  })

  test.each([
    [{ S3_ENDPOINT: 'ftp://s3.test' }, 'S3_ENDPOINT'],
    [{ S3_FORCE_PATH_STYLE: 'yes' }, 'S3_FORCE_PATH_STYLE'],
    [{ AWS_ACCESS_KEY_ID: 'id' }, 'AWS_SECRET_ACCESS_KEY'],
  ])('%j is refused by name', (env, name) => {
    expect(() => loadConfig({ S3_BUCKET: 'calls', ...env })).toThrow(name)
  })
})
