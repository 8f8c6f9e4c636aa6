/** What an operator does about an error of the object store. Pure. No message names a bucket, a host or a key. */
import { NeedsOperator } from '../errors.ts'
import { isNamed, statusOf } from './s3-errors.ts'
import { demandsChecksum, isDiskFull, isStoreFull } from './unavailable.ts'

/** Permissions of S3, as policies write them. */
type Permission = 'PutObject' | 'GetObject' | 'DeleteObject' | 'AbortMultipartUpload'

const CREDENTIALS = ['InvalidAccessKeyId', 'SignatureDoesNotMatch']
const REGION = [
  'AuthorizationHeaderMalformed',
  'PermanentRedirect',
  'TemporaryRedirect',
  'IllegalLocationConstraintException',
]

/** The error with its remedy, if there is one. `permission`: what the request needs. */
export function withRemedy(error: unknown, permission: Permission): unknown {
  const remedy = remedyOf(error, permission)
  return remedy === null ? error : new NeedsOperator(remedy, { cause: error })
}

function remedyOf(error: unknown, permission: Permission): string | null {
  const isOne = (names: readonly string[]) => names.some((name) => isNamed(error, name))
  if (isDiskFull(error)) return SPOOL_FULL
  if (isStoreFull(error)) return 'The object store is full. Free space on it.'
  if (demandsChecksum(error)) return 'The bucket demands a checksum. Set S3_CHECKSUM to md5.'
  if (isOne(['NoSuchBucket'])) return 'The bucket does not exist. Create it, or correct S3_BUCKET.'
  if (isOne(CREDENTIALS))
    return 'The object store refuses the access key. Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.'
  if (isOne(REGION)) return 'The bucket is in another region. Correct S3_REGION.'
  if (isOne(['RequestTimeTooSkewed']))
    return 'The object store refuses the time of this machine. Set its clock.'
  if (isOne(['AbortError', 'TimeoutError']))
    return 'The object store does not answer in time. Start it, or correct S3_ENDPOINT.'
  const status = statusOf(error)
  if (status === undefined && error instanceof Error && '$metadata' in error)
    return 'The object store cannot be reached. Start it, or correct S3_ENDPOINT.'
  if (status === 401 || status === 403)
    return `The object store refuses s3:${permission}. Allow it for the access key, on the bucket and its objects.`
  return null
}

export const SPOOL_FULL =
  'The disk of DATA_DIR/spool, which holds bytes on their way to the object store, is full. Free space on it.'
