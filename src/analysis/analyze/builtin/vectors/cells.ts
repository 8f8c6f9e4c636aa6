/** The centroids of the cells, which `bun run search-centroids` computes. */
import file from './centroids.zst' with { type: 'file' }

export async function loadCentroids(): Promise<Int8Array> {
  const bytes = await Bun.zstdDecompress(await Bun.file(file).arrayBuffer())
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
