/**
 * Estimates the cost of work on a JSON body from its text.
 *
 * The number of bytes tells little: 200 kB of a conversation take half a millisecond to parse, 200 kB of small objects
 * with different member names take fifty. Shapes make the difference. The engine creates one for each new sequence of
 * member names, which takes as long as dozens of values. Texts, lists, objects and shapes are therefore counted. The
 * time is linear, at most about a nanosecond a byte: long texts are skipped, and counting stops once the answer is
 * known.
 */
import { join, type Parts, sizeOf } from '../platform/concurrency/parts.ts'
import { MAX_INLINE_UNITS } from '../platform/concurrency/request-work.ts'
import type { Load } from '../platform/concurrency/work.ts'

/** Units are about 10 ns. They cover what follows as well: checking, copying, writing and hashing. */
const UNITS_PER_BYTE = 0.5
const UNITS_PER_VALUE = 15
const UNITS_PER_SHAPE = 300
/** An object with more members than this becomes a table of names, which is cheaper. */
const MAX_SHAPED_MEMBERS = 64
const UNITS_PER_TABLE_NAME = 60
/** Usual requests have no more, and the engine knows theirs already. */
const FREE_SHAPES = 64
/** Looking for the end of a text once more, after an escaped quote. */
const UNITS_PER_ESCAPED_QUOTE = 5

/** Counting stops here, because the exact number no longer matters. */
const ENOUGH_UNITS = 1_000_000

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** Bytes of a text that are looked at one by one. A longer name counts as a new shape. */
const MAX_NAME_BYTES = 48
/** Deeper values are refused later; until then they count as if they were at this depth. */
const MAX_DEPTH = 64
/** Of the table of shapes, a power of two. Shapes that share a place count as one. */
const PLACES = 4_096
/** Part of each place, so that a client cannot choose names that share one. */
const SECRET = crypto.getRandomValues(new Int32Array(1))[0] as number

/** The load of work on this JSON text for `caller`. If a thread does the work, the parts are transferred to it. */
export function jsonLoad(caller: string, parts: Uint8Array[]): Load & { readonly parts: Uint8Array[] } {
  return { caller, bytes: sizeOf(parts), units: jsonUnits(parts), parts }
}

/** Units that work on a JSON text takes; of what is no JSON, any number. Not exact beyond `ENOUGH_UNITS`. */
export function jsonUnits(parts: Parts): number {
  const least = sizeOf(parts) * UNITS_PER_BYTE
  // A thread does the work in any case, so the parts are neither joined nor counted here.
  return least > MAX_INLINE_UNITS ? least : unitsOf(join(parts))
}

function unitsOf(text: Uint8Array): number {
  const cost = new Cost(text)
  for (let at = 0; at < text.length && cost.units < ENOUGH_UNITS; at++) {
    const byte = text[at]
    if (byte === QUOTE) at = cost.readText(at)
    else if (byte === COMMA) cost.nextMember()
    else if (byte === BRACE || byte === BRACKET) cost.open(byte === BRACE)
    else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) cost.close()
  }
  return cost.units
}

class Cost {
  units: number
  #freeShapes = FREE_SHAPES
  #depth = 0
  /** The next text is a name. */
  #nameComes = false
  readonly #seen = new Uint8Array(PLACES)
  /** By depth: a hash of the names that an object has had so far, in their order. */
  readonly #shapes = new Int32Array(MAX_DEPTH + 1)
  /** By depth: how many; -1 for lists. */
  readonly #members = new Int32Array(MAX_DEPTH + 1).fill(-1)

  constructor(private readonly text: Uint8Array) {
    this.units = text.byteLength * UNITS_PER_BYTE
  }

  open(isObject: boolean): void {
    this.units += UNITS_PER_VALUE
    this.#depth++
    const level = this.#level
    this.#shapes[level] = SECRET
    this.#members[level] = isObject ? 0 : -1
    this.#nameComes = isObject
  }

  close(): void {
    if (this.#depth > 0) this.#depth--
    this.#nameComes = false
  }

  nextMember(): void {
    this.#nameComes = (this.#members[this.#level] as number) >= 0
  }

  /** @returns where the text ends that begins here */
  readText(start: number): number {
    const { text } = this
    this.units += UNITS_PER_VALUE
    const stop = Math.min(text.length, start + 1 + MAX_NAME_BYTES)
    let hash = SECRET
    let at = start + 1
    for (; at < stop; at++) {
      const byte = text[at] as number
      if (byte === QUOTE || byte === BACKSLASH) break
      hash = Math.imul(hash ^ byte, 0x01000193)
    }
    const isWhole = text[at] === QUOTE
    if (this.#nameComes) this.#countName(hash, isWhole)
    return isWhole ? at : this.#endOfText(at)
  }

  #endOfText(from: number): number {
    const { text } = this
    for (let quote = text.indexOf(QUOTE, from); quote !== -1; quote = text.indexOf(QUOTE, quote + 1)) {
      let before = quote
      while (text[before - 1] === BACKSLASH) before--
      if ((quote - before) % 2 === 0) return quote
      this.units += UNITS_PER_ESCAPED_QUOTE
      if (this.units >= ENOUGH_UNITS) break
    }
    return text.length
  }

  #countName(hash: number, isWhole: boolean): void {
    this.#nameComes = false
    const level = this.#level
    const members = (this.#members[level] as number) + 1
    this.#members[level] = members
    if (members > MAX_SHAPED_MEMBERS) this.units += UNITS_PER_TABLE_NAME
    else if (this.#isNewShape(level, hash) || !isWhole) this.#countShape()
  }

  #isNewShape(level: number, hash: number): boolean {
    const mixed = Math.imul((this.#shapes[level] as number) ^ hash, 0x5bd1e995)
    const shape = mixed ^ (mixed >>> 15)
    this.#shapes[level] = shape
    const place = shape & (PLACES - 1)
    if (this.#seen[place] === 1) return false
    this.#seen[place] = 1
    return true
  }

  #countShape(): void {
    if (this.#freeShapes > 0) this.#freeShapes--
    else this.units += UNITS_PER_SHAPE
  }

  get #level(): number {
    return Math.min(this.#depth, MAX_DEPTH)
  }
}
