/** The checksum of what is stored on S3. */
import type { S3Config } from './s3-config.ts'

/** What a put sends besides the bytes. Buckets with retention refuse puts without it. */
export interface Digest {
  readonly ContentMD5?: string
}

export function digestOf(checksum: S3Config['checksum'], bytes: Uint8Array): Digest {
  return checksum === 'none' ? {} : { ContentMD5: new Bun.CryptoHasher('md5').update(bytes).digest('base64') }
}
