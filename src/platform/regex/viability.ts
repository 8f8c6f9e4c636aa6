/**
 * Determines for each position of a text, from right to left, which instructions of a program can still lead to a match.
 *
 * This is the subset construction over the reversed program. States are computed when they are needed. A known state costs one
 * table look-up for each character. When the states take too much memory they are dropped, so a hostile pattern costs time, which
 * `spend` counts, but not memory.
 */
import type { Spend } from '../concurrency/work.ts'
import { conditionsAt, Kind, Op, type Program } from './program.ts'

/** The instructions that can match from a position on, given the text after it. */
export interface State {
  /** By instruction: 1 for a `Rune` that accepts the next character and leads to a match. */
  readonly takes: Uint8Array
  /** The kind of the next character. */
  readonly kind: Kind
  /** By column of the previous character: the state before it, and whether a match starts between the two. */
  before: State[]
  starts: boolean[]
}

/** Units for each instruction when a state is computed. */
const STEP_UNITS = 4

/** Approximate limit for the states of one program. Beyond it, all states are dropped. */
const MAX_STATE_BYTES = 48 * 1024
const STATE_OVERHEAD_BYTES = 200

export interface Viability {
  /** The state after the last character. */
  readonly end: State
  /** The column of a character in `before` and `starts`. A class gets its column when it first occurs. */
  columnOf(rune: number): number
  /** The state before a character of the column. Fills `starts` as well. */
  step(state: State, column: number, spend: Spend): State
  /** True if a match starts at the start of the text. */
  startsText(state: State): boolean
}

/** States are shared by all texts that the program is run on. */
export function createViability(program: Program): Viability {
  const classes: number[] = []
  const columnOfClass = new Map<number, number>()
  const end: State = { takes: new Uint8Array(program.size), kind: Kind.Edge, before: [], starts: [] }
  const states = new Map<string, State>()
  let bytes = 0

  function columnOf(rune: number): number {
    const characterClass = program.classOf(rune)
    const known = columnOfClass.get(characterClass)
    if (known !== undefined) return known
    const column = classes.push(characterClass) - 1
    columnOfClass.set(characterClass, column)
    return column
  }

  /** The instructions that can lead to a match if a character of this kind precedes the position. */
  function reach(state: State, before: Kind): Uint8Array {
    const reached = Uint8Array.from(state.takes)
    const holds = program.hasAssertions ? conditionsAt(before, state.kind) : 0
    const pending = [...program.matchAt]
    for (let pc = 0; pc < program.size; pc++) if (reached[pc] === 1) pending.push(pc)
    for (const pc of program.matchAt) reached[pc] = 1
    for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
      for (const earlier of program.before[pc] as readonly number[]) {
        if (reached[earlier] === 1) continue
        const isOpen = program.op[earlier] !== Op.Assert || conditionsHold(program, earlier, holds)
        if (!isOpen) continue
        reached[earlier] = 1
        pending.push(earlier)
      }
    }
    return reached
  }

  function forget(): void {
    for (const state of [end, ...states.values()]) {
      state.before = []
      state.starts = []
    }
    states.clear()
    bytes = 0
  }

  /** A key for a set of instructions, with 16 instructions per character. */
  const words = new Array<number>(Math.ceil(program.size / 16) + 1)
  function keyOf(takers: readonly number[], kind: Kind): string {
    words.fill(0)
    words[0] = kind
    for (const pc of takers) words[(pc >> 4) + 1] = (words[(pc >> 4) + 1] as number) | (1 << (pc & 15))
    return String.fromCharCode(...words)
  }

  function stateOf(takers: readonly number[], kind: Kind): State {
    const key = keyOf(takers, kind)
    const known = states.get(key)
    if (known !== undefined) return known
    const takes = new Uint8Array(program.size)
    for (const pc of takers) takes[pc] = 1
    const state: State = { takes, kind, before: [], starts: [] }
    bytes += STATE_OVERHEAD_BYTES + program.size + key.length
    if (bytes > MAX_STATE_BYTES) forget()
    states.set(key, state)
    return state
  }

  return {
    end,
    columnOf,
    step(state, column, spend) {
      const known = state.before[column]
      if (known !== undefined) return known
      spend(STEP_UNITS * program.size)
      const characterClass = classes[column] as number
      const kind = program.hasAssertions ? program.kindOf(characterClass) : Kind.Other
      const reached = reach(state, kind)
      const takers = program.takersOf(characterClass).filter((pc) => reached[program.out[pc] as number] === 1)
      const before = stateOf(takers, kind)
      bytes += 16
      state.before[column] = before
      state.starts[column] = reached[program.start] === 1
      return before
    },
    startsText: (state) => reach(state, Kind.Edge)[program.start] === 1,
  }
}

/** True if an `Assert` passes. */
export function conditionsHold(program: Program, pc: number, holds: number): boolean {
  return ((program.conditions[pc] as number) & ~holds) === 0
}
