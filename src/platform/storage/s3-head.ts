/** Size and type of an S3 object. */
import type { S3Client } from '@aws-sdk/client-s3'
import type { ObjectInfo } from './storage.ts'

/** Some proxies drop the length of an answer. The object is then read to its end. @throws the server's error */
export async function headObject(
  client: S3Client,
  place: { readonly Bucket: string; readonly Key: string },
): Promise<ObjectInfo> {
  const { GetObjectCommand, HeadObjectCommand } = await import('@aws-sdk/client-s3')
  const { ContentLength, ContentType = '' } = await client.send(new HeadObjectCommand(place))
  if (ContentLength !== undefined) return { size: ContentLength, contentType: ContentType }
  const { Body } = await client.send(new GetObjectCommand(place))
  let size = 0
  for await (const chunk of Body?.transformToWebStream() ?? []) size += (chunk as Uint8Array).byteLength
  return { size, contentType: ContentType }
}
