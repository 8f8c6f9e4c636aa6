/**
 * From right to left over a text: which instructions of a program can still lead to a match, at each position.
 *
 * It is the subset construction over the reversed program, made as it is needed: one table look-up for a character once a state
 * is known. States are dropped when they take too much memory, so a hostile pattern costs time (which `spend` counts), not memory.
 */
import type { Spend } from '../concurrency/work.ts'
import { conditionsAt, Kind, Op, type Program } from './program.ts'

/** What can match from a position on, as far as the text behind it tells. */
export interface State {
  /** By instruction: 1 for a `Rune` that takes the next character and leads to a match. */
  readonly takes: Uint8Array
  /** Of the next character. */
  readonly kind: Kind
  /** By column of the character before: the state before it, and whether a match starts between the two. */
  before: State[]
  starts: boolean[]
}

/** What it costs to find out a state, for each instruction. */
const STEP_UNITS = 4

/** Of the states of one program, about. Another state too many begins anew. */
const MAX_STATE_BYTES = 48 * 1024
const STATE_OVERHEAD_BYTES = 200

export interface Viability {
  /** Behind the last character. */
  readonly end: State
  /** The column of a character in `before` and `starts`. Columns are given to classes as they are met. */
  columnOf(rune: number): number
  /** The state before a character of the column. Fills `starts` as well. */
  step(state: State, column: number, spend: Spend): State
  /** True where a match starts at the begin of the text. */
  startsText(state: State): boolean
}

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

  /** Instructions from which a match can be reached, with that kind of character before the position. */
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

  /** Names a set of instructions, 16 in a character. */
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

/** True where an `Assert` passes. */
export function conditionsHold(program: Program, pc: number, holds: number): boolean {
  return ((program.conditions[pc] as number) & ~holds) === 0
}
