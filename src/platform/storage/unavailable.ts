/** Errors of the object store and of the disk that a request cannot help, as answers to it. Pure. */
import { type AppError, storageFull, unavailable } from '../errors.ts'
import { isNamed, statusOf } from './s3-errors.ts'

/** Names that servers give to a full disk. */
const FULL = ['InsufficientStorage', 'XMinioStorageFull']

/** The bucket is in another region, or the clock is wrong. Some servers answer 400 for it. */
const SETTINGS = [
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'RequestTimeTooSkewed',
]

/**
 * The 503 `unavailable` or the 507 `storage_full` for an error of the object store or of the disk that is no fault of the request. Null for any
 * other error.
 */
export function asStorageUnavailable(error: unknown): AppError | null {
  if (isDiskFull(error)) return storageFull('The disk of the service is full.', error)
  if (!(error instanceof Error) || !('$metadata' in error)) return null
  const status = statusOf(error)
  if (isStoreFull(error)) return storageFull('The object store is full.', error)
  if (status === undefined || status >= 500 || status === 408 || status === 429)
    return unavailable('The object store cannot answer at the moment.', error)
  const isRefused = status < 400 || status === 401 || status === 403 || isNamed(error, 'NoSuchBucket')
  if (!isRefused && !demandsChecksum(error) && !SETTINGS.some((name) => isNamed(error, name))) return null
  return unavailable('The object store refuses the service.', error)
}

/** The bucket has Object Lock, and a put had no checksum. Servers have several codes for it, and all name the header. */
export function demandsChecksum(error: unknown): boolean {
  if (statusOf(error) !== 400 || !(error instanceof Error)) return false
  return /Content-MD5\b/i.test(error.message) && /\brequired\b/i.test(error.message)
}

export function isStoreFull(error: unknown): boolean {
  return statusOf(error) === 507 || FULL.some((name) => isNamed(error, name))
}

/** Also of the file that holds bytes on their way to S3, whose error is the cause of another one. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true
  return error.cause instanceof Error && isDiskFull(error.cause)
}
