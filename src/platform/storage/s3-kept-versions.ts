/** Says in the log that versions of deleted objects stay in the bucket, because the server refuses to list or to delete them. */
import type { Log } from '../observability/log.ts'

const EVERY_MS = 3_600_000

export interface KeptVersions {
  /** Versions of one more object stay. `code`: what the server calls the reason. */
  add(code: string): void
  /** Logs what no line has said. */
  close(): void
}

/** A line at once, and one for all that follows in the same hour. Only tests change the time between them. */
export function createKeptVersions(log: Pick<Log, 'warn'>, bucket: string, everyMs = EVERY_MS): KeptVersions {
  let objects = 0
  let lastCode = ''
  let timer: Timer | null = null

  function tell() {
    timer = null
    if (objects === 0) return
    log.warn(
      { bucket, objects, code: lastCode },
      'versions of deleted objects stay in the bucket: the server refuses to delete them. Allow s3:ListBucketVersions and s3:DeleteObjectVersion, or let a rule of the bucket expire them (docs/privacy.md)',
    )
    objects = 0
    timer = setTimeout(tell, everyMs).unref()
  }

  return {
    add(code) {
      objects += 1
      lastCode = code
      if (timer === null) tell()
    },
    close() {
      clearTimeout(timer ?? undefined)
      tell()
      clearTimeout(timer ?? undefined)
    },
  }
}
