/**
 * Finds every match of a pattern in a text, in time linear in the length of the text.
 *
 * A repeated search is quadratic even if each search is linear: on a text of `a`, the pattern `a*b|a` reads the whole rest before
 * each match. So this code makes two passes. The first pass, from right to left, determines for each position which
 * instructions can still lead to a match (see viability.ts). The second pass, from left to right, follows the preferred one of
 * these instructions and never backtracks (Frisch and Cardelli, "Greedy regular expression matching", ICALP 2004). The matches
 * are those of Perl and RE2: leftmost, then by preference, without overlap.
 *
 * The text is processed in blocks. The first pass stores only the state at the end of each block. The second pass computes the
 * states within a block again. So memory does not grow with the number of positions.
 */
import type { RE2JS } from 're2js'
import type { Spend } from '../concurrency/work.ts'
import { conditionsAt, Kind, kindOfRune, Op, type Program, programOf } from './program.ts'
import { conditionsHold, createViability, type State, type Viability } from './viability.ts'

/** UTF-16 code units; `end` is exclusive. */
export interface Range {
  readonly start: number
  readonly end: number
}

export interface Matches {
  /** The matches in their order, without empty ones. `spend` may throw. Nothing of the text is kept then. */
  find(text: string, spend: Spend): Range[]
  /** False if a text lacks a literal that every match contains. @param has whether the text has the literal */
  mayMatch(has: (literal: string) => boolean): boolean
}

/** Code units. */
const BLOCK_UNITS = 8 * 1024

/** Prepares a pattern, which is cheap. Tables are filled while texts are matched. `blockUnits` is for tests. */
export function createMatches(pattern: RE2JS, blockUnits = BLOCK_UNITS): Matches {
  const program = programOf(pattern)
  const viability = createViability(program)
  const latin1 = new Int16Array(256).fill(-1)
  const columnOf = (rune: number): number => {
    if (rune > 255) return viability.columnOf(rune)
    const known = latin1[rune] as number
    if (known >= 0) return known
    const column = viability.columnOf(rune)
    latin1[rune] = column
    return column
  }
  return {
    find(text, spend) {
      if (text === '' || !program.mayMatch((literal, from) => text.includes(literal, from))) return []
      if (text.length <= blockUnits && !startsIn(viability, columnOf, text, spend)) return []
      const scan = new Scan(program, viability, columnOf, text, spend, blockUnits)
      return scan.mark() ? scan.collect() : []
    },
    mayMatch: (has) => program.mayMatch(has),
  }
}

/** The first pass over a text of a single block, as most texts are. True if there is any match, including an empty one. */
function startsIn(
  viability: Viability,
  columnOf: (rune: number) => number,
  text: string,
  spend: Spend,
): boolean {
  let state = viability.end
  spend(text.length)
  for (let position = text.length; position > 0; ) {
    const rune = runeBefore(text, position)
    const column = columnOf(rune)
    const before = state.before[column] ?? viability.step(state, column, spend)
    if (state.starts[column]) return true
    state = before
    position -= rune > 0xffff ? 2 : 1
  }
  return viability.startsText(state)
}

/** One text under one program. */
class Scan {
  /** The end of each block, in code units. */
  readonly #ends: number[]
  /** The state at the end of each block. */
  readonly #behind: State[] = []
  readonly #hasStart: boolean[] = []
  /** The block whose states are in memory. */
  #block = -1
  #from = 0
  readonly #states: State[] = []
  #starts = new Uint8Array()
  #visited = new Int32Array()
  #visit = 0

  constructor(
    private readonly program: Program,
    private readonly viability: Viability,
    private readonly columnOf: (rune: number) => number,
    private readonly text: string,
    private readonly spend: Spend,
    private readonly blockUnits: number,
  ) {
    this.#ends = blockEnds(text, blockUnits)
  }

  /** The first pass. @returns false if nothing matches */
  mark(): boolean {
    let state = this.viability.end
    for (let block = this.#ends.length - 1; block >= 0; block--) {
      this.#behind[block] = state
      state = this.#read(block, false)
    }
    this.#hasStart[0] ||= this.viability.startsText(state)
    return this.#hasStart.includes(true)
  }

  /** The second pass. */
  collect(): Range[] {
    this.#starts = new Uint8Array(Math.min(this.text.length, this.blockUnits) + 2)
    this.#visited = new Int32Array(this.program.size)
    const ranges: Range[] = []
    let position = 0
    for (let block = 0; block < this.#ends.length; block++) {
      const blockEnd = this.#ends[block] as number
      if (position >= blockEnd || !this.#hasStart[block]) continue
      while (position < blockEnd) {
        this.#load(block)
        const start = Math.max(position, this.#from)
        const found = this.#starts.indexOf(1, start - this.#from)
        if (found === -1 || found + this.#from >= blockEnd) break
        const at = found + this.#from
        const end = this.#follow(at)
        if (end > at) ranges.push({ start: at, end })
        position = Math.max(end, at + 1)
      }
      position = Math.max(position, blockEnd)
    }
    return ranges
  }

  /** Reads a block from right to left. @returns the state at its start */
  #read(block: number, keep: boolean): State {
    const { text, viability, columnOf, spend } = this
    const from = block === 0 ? 0 : (this.#ends[block - 1] as number)
    const end = this.#ends[block] as number
    let state = this.#behind[block] as State
    spend(end - from)
    for (let position = end; position > from; ) {
      let rune = text.charCodeAt(position - 1)
      let width = 1
      if (rune >= 0xdc00 && rune <= 0xdfff && position - 1 > from) {
        const whole = text.codePointAt(position - 2) as number
        if (whole > 0xffff) {
          rune = whole
          width = 2
        }
      }
      const column = columnOf(rune)
      const before = state.before[column] ?? viability.step(state, column, spend)
      const starts = state.starts[column] as boolean
      // The position after the last character of a block belongs to the next block.
      if (starts) this.#hasStart[position === end ? block + 1 : block] = true
      if (keep) {
        this.#states[position - from] = state
        this.#starts[position - from] = starts ? 1 : 0
        if (width === 2) this.#starts[position - from - 1] = 0
      }
      state = before
      position -= width
    }
    if (keep) this.#keepFirst(block, state)
    return state
  }

  /** The first position of a block. Assertions need the previous character, which belongs to the previous block. */
  #keepFirst(block: number, state: State): void {
    this.#states[0] = state
    if (block === 0) {
      this.#starts[0] = this.viability.startsText(state) ? 1 : 0
      return
    }
    const column = this.columnOf(runeBefore(this.text, this.#from))
    this.viability.step(state, column, this.spend)
    this.#starts[0] = state.starts[column] ? 1 : 0
  }

  #load(block: number): void {
    if (this.#block === block) return
    this.#block = block
    this.#from = block === 0 ? 0 : (this.#ends[block - 1] as number)
    this.#read(block, true)
    this.#starts.fill(0, (this.#ends[block] as number) - this.#from)
  }

  #stateAt(position: number): State {
    if (position >= this.text.length) return this.viability.end
    if (position >= (this.#ends[this.#block] as number)) this.#load(this.#block + 1)
    return this.#states[position - this.#from] as State
  }

  /** @returns the end of the match that starts here */
  #follow(start: number): number {
    const { text, program } = this
    let pc = program.start
    for (let position = start; ; ) {
      this.spend(1)
      const state = this.#stateAt(position)
      const taker = this.#preferred(pc, state, position)
      if (program.op[taker] === Op.Match) return position
      pc = program.out[taker] as number
      const rune = text.codePointAt(position) as number
      position += rune > 0xffff ? 2 : 1
    }
  }

  /** The instruction with which a backtracking search would continue: the first that takes the next character or matches. */
  #preferred(from: number, state: State, position: number): number {
    const { program } = this
    const first = program.op[from]
    if (first === Op.Match || (first === Op.Rune && state.takes[from] === 1)) return from
    const holds = program.hasAssertions ? conditionsAt(this.#kindBefore(position), state.kind) : 0
    this.#visit++
    const pending = [from]
    for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
      if (this.#visited[pc] === this.#visit) continue
      this.#visited[pc] = this.#visit
      this.spend(1)
      switch (program.op[pc]) {
        case Op.Match:
          return pc
        case Op.Rune:
          if (state.takes[pc] === 1) return pc
          break
        case Op.Split:
          pending.push(program.other[pc] as number, program.out[pc] as number)
          break
        case Op.Skip:
          pending.push(program.out[pc] as number)
          break
        case Op.Assert:
          if (conditionsHold(program, pc, holds)) pending.push(program.out[pc] as number)
      }
    }
    throw new Error('the two passes over a text disagree')
  }

  #kindBefore(position: number): Kind {
    return position === 0 ? Kind.Edge : kindOfRune(runeBefore(this.text, position))
  }
}

/** Blocks of about the same size. No block ends within a character. */
function blockEnds(text: string, units: number): number[] {
  const ends: number[] = []
  for (let end = units; end < text.length; end += units) {
    const isWithin = (text.codePointAt(end - 1) as number) > 0xffff
    ends.push(isWithin ? end + 1 : end)
    if (isWithin) end++
  }
  if (ends.at(-1) !== text.length) ends.push(text.length)
  return ends
}

function runeBefore(text: string, position: number): number {
  const unit = text.charCodeAt(position - 1)
  if (unit < 0xdc00 || unit > 0xdfff || position < 2) return unit
  const whole = text.codePointAt(position - 2) as number
  return whole > 0xffff ? whole : unit
}
