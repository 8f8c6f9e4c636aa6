/** What the S3 store has its caller remember of an incoming object. Pure. */
import type { Json } from '../db/pool.ts'

const MIB = 1024 * 1024
/** Of S3. */
export const MAX_PART_NUMBER = 10_000
/** 5 TiB, of S3 and the servers that are like it; in parts of 1 GiB, of which they take 5. */
export const MAX_OBJECT_BYTES = 5 * 1024 ** 4
/** Above what S3 takes as the smallest, since each part is a record. */
const MIN_PART_BYTES = 8 * MIB
/** So that as many numbers may be lost with writers that died. */
const PLANNED_PARTS = MAX_PART_NUMBER / 2

export interface S3Memory {
  readonly uploadId: string
  /** The first part number that nobody was given yet. Each is one writer's only: a part that is sent again is replaced. */
  readonly next: number
  /** The end of what has come, too short for a part: an object of its own. */
  readonly tail: { readonly name: string; readonly bytes: number } | null
  /** Objects that may exist, of tails in the past and of the newest writer. */
  readonly litter: readonly string[]
  /** Objects that writers which were left behind may still make. */
  readonly strays: readonly string[]
}

/** @throws Error where it is not what this store recorded */
export function memoryOf(json: Json): S3Memory | null {
  if (json === null) return null
  const memory = json as Partial<S3Memory>
  const isWhole =
    typeof memory.uploadId === 'string' &&
    typeof memory.next === 'number' &&
    Array.isArray(memory.litter) &&
    Array.isArray(memory.strays)
  if (!isWhole) throw new Error('the record of an incoming object is not one of this store')
  return json as unknown as S3Memory
}

/** One size for all but the last, as R2 wants it. */
export function partBytesOf(size: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(size / PLANNED_PARTS / MIB) * MIB)
}

/** The key of an object with that name which belongs to `key`. */
export function besides(key: string, name: string): string {
  return `${key}.incoming-${name}`
}

/** Every object besides the key that may exist. */
export function leftoversOf(memory: S3Memory | null): readonly string[] {
  if (memory === null) return []
  return [
    ...new Set([...memory.litter, ...memory.strays, ...(memory.tail === null ? [] : [memory.tail.name])]),
  ]
}
