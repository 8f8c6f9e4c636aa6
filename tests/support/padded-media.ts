/** Media of any size. A player needs only the first few kilobytes. */
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { wav } from './media.ts'

const PICTURE = resolve(import.meta.dir, '../media/fixtures/picture.mp4')

/**
 * A playable MP4, padded with free space to `size` bytes. The padding is a hole in the file, so it uses no disk space
 * (ISO/IEC 14496-12: a box `free` with a 64-bit length).
 */
export function writePaddedMp4(path: string, size: number): string {
  copyFileSync(PICTURE, path)
  const { size: start } = Bun.file(path)
  const box = Buffer.alloc(16)
  box.writeUInt32BE(1, 0)
  box.write('free', 4, 'latin1')
  box.writeBigUInt64BE(BigInt(size - start), 8)
  writeFileSync(path, box, { flag: 'a' })
  truncateSync(path, size)
  return path
}

/**
 * A second of sound that every browser plays, padded to `size` bytes as above (a chunk `JUNK`). The service encodes nothing of it, which
 * takes a second for a film.
 */
export function writePaddedWav(path: string, size: number): string {
  const sound = wav(1)
  const view = new DataView(sound.buffer)
  const chunk = Buffer.alloc(8)
  chunk.write('JUNK', 'latin1')
  chunk.writeUInt32LE(size - sound.byteLength - chunk.byteLength, 4)
  view.setUint32(4, size - 8, true)
  writeFileSync(path, Buffer.concat([sound, chunk]))
  truncateSync(path, size)
  return path
}
