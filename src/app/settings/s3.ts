/** The settings of an S3 bucket. */

import type { S3Config } from '../../platform/storage/s3-config.ts'
import { ConfigError, type reader } from './reader.ts'
import { SETTINGS } from './table.ts'

/** Without Amazon the bucket stands in the path by default: every S3 server understands that. */
export function s3Config(read: ReturnType<typeof reader>): S3Config | null {
  const bucket = read.text('S3_BUCKET')
  if (bucket === null) return null
  const endpoint = read.url('S3_ENDPOINT')
  const region = read.text('S3_REGION') ?? read.text('AWS_REGION') ?? read.text('AWS_DEFAULT_REGION')
  const pathStyle = read.oneOf('S3_FORCE_PATH_STYLE', endpoint === null ? 'false' : 'true')
  return {
    bucket,
    endpoint,
    region: region ?? 'us-east-1',
    forcePathStyle: pathStyle === 'true',
    checksum: read.oneOf('S3_CHECKSUM', SETTINGS.S3_CHECKSUM.default),
    credentials: s3Credentials(read),
  }
}

function s3Credentials(read: ReturnType<typeof reader>): S3Config['credentials'] {
  const accessKeyId = read.text('AWS_ACCESS_KEY_ID')
  if (accessKeyId === null) return null
  const secretAccessKey = read.text('AWS_SECRET_ACCESS_KEY')
  if (secretAccessKey === null)
    throw new ConfigError('AWS_SECRET_ACCESS_KEY is not set, but must be the secret of AWS_ACCESS_KEY_ID')
  const sessionToken = read.text('AWS_SESSION_TOKEN')
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) }
}
