/** The state that the S3 store needs to resume an incoming object. The caller keeps it. Pure. */
import type { Json } from '../db/pool.ts'

const MIB = 1024 * 1024
/** Limit of S3. */
export const MAX_PART_NUMBER = 10_000
/** 5 TiB, the limit of S3 and compatible servers. Parts are then 1 GiB; the limit is 5 GiB. */
export const MAX_OBJECT_BYTES = 5 * 1024 ** 4
/** More than the minimum of S3, because each part is recorded. */
const MIN_PART_BYTES = 8 * MIB
/** Half of the part numbers may be lost with writers that died. */
const PLANNED_PARTS = MAX_PART_NUMBER / 2

export interface S3ResumeState {
  readonly uploadId: string
  /**
   * The first unassigned part number. Each number belongs to one writer only, because sending a part again replaces it.
   */
  readonly next: number
  /** The end of the received bytes, too short for a part: an object of its own. */
  readonly tail: { readonly name: string; readonly bytes: number } | null
  /** Objects that may exist: former tails, and the tails of the newest writer. */
  readonly orphanKeys: readonly string[]
  /** Objects that superseded writers may still create. */
  readonly possibleOrphans: readonly string[]
}

/** @throws Error if this store did not record the value */
export function parseResumeState(json: Json): S3ResumeState | null {
  if (json === null) return null
  const resumeState = json as Partial<S3ResumeState>
  const isWhole =
    typeof resumeState.uploadId === 'string' &&
    typeof resumeState.next === 'number' &&
    Array.isArray(resumeState.orphanKeys) &&
    Array.isArray(resumeState.possibleOrphans)
  if (!isWhole) throw new Error('the resume state of an incoming object was not recorded by this store')
  return json as unknown as S3ResumeState
}

/** One size for all parts but the last, as R2 requires. */
export function partBytesOf(size: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(size / PLANNED_PARTS / MIB) * MIB)
}

/** The key of a named object that belongs to `key`. */
export function siblingKey(key: string, name: string): string {
  return `${key}.incoming-${name}`
}

/** Names of all objects that may exist beside the key. */
export function siblingNames(resumeState: S3ResumeState | null): readonly string[] {
  if (resumeState === null) return []
  return [
    ...new Set([
      ...resumeState.orphanKeys,
      ...resumeState.possibleOrphans,
      ...(resumeState.tail === null ? [] : [resumeState.tail.name]),
    ]),
  ]
}
