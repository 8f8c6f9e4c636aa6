/** Media of any size, of which a player needs the first few kilobytes. */
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const PICTURE = resolve(import.meta.dir, '../media/fixtures/picture.mp4')

/**
 * An MP4 that plays, with free space behind it up to `size` bytes. The space is a hole of the file, so it costs no disk
 * (ISO/IEC 14496-12: a box `free` whose length is in 64 bits).
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
