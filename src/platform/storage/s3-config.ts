/** The bucket that holds media. */
export interface S3Config {
  readonly bucket: string
  /** null: Amazon's endpoint of the region. */
  readonly endpoint: string | null
  readonly region: string
  /** Puts the bucket into the path of URLs instead of the host name. */
  readonly forcePathStyle: boolean
  /** Sent with every put. Buckets with retention demand it. */
  readonly checksum: 'md5' | 'none'
  /** null: the AWS SDK finds them, such as in a profile or the role of the machine. */
  readonly credentials: {
    readonly accessKeyId: string
    readonly secretAccessKey: string
    readonly sessionToken?: string
  } | null
}
