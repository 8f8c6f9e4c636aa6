/** A small file system in memory that a test fills. Only root may mount one. */
import { appendFileSync, chmodSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const BALLAST_STEP_BYTES = 1 << 20

/** @param size such as `64m`. @returns its folder; null if it cannot be mounted */
export function mountSmallDisk(size: string): string | null {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return null
  const folder = mkdtempSync(join(tmpdir(), 'earshot-disk-'))
  const { success } = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'earshot', folder])
  if (success) {
    chmodSync(folder, 0o711)
    return folder
  }
  rmdirSync(folder)
  return null
}

export function unmount(folder: string | null): void {
  if (folder === null) return
  Bun.spawnSync(['umount', '-l', folder])
  rmdirSync(folder)
}

/** Fills all free space. @throws Error on any failure other than a full disk */
export function fill(file: string): void {
  for (let step = BALLAST_STEP_BYTES; step > 0; step = Math.floor(step / 16)) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(step, 1))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}
