/**
 * The program of a compiled RE2 pattern in the form that the matcher needs: instructions, character classes, and edges between
 * instructions that consume nothing.
 *
 * `re2js` parses, simplifies and compiles the pattern. Only this file uses its internal data, which has no types. A property test
 * compares the matches with those of `re2js`, and fails if a new version changes the meaning of the data.
 */
import type { RE2JS } from 're2js'

/** What an instruction does. `Split` prefers `out` to `other`; `Assert` passes where its `conditions` hold. */
export const Op = { Fail: 0, Match: 1, Rune: 2, Split: 3, Skip: 4, Assert: 5 } as const
export type Op = (typeof Op)[keyof typeof Op]

/** The kinds of neighbours of a position that assertions distinguish. `Edge` is the start or the end of the text. */
export const Kind = { Other: 0, LineBreak: 1, Word: 2, Edge: 3 } as const
export type Kind = (typeof Kind)[keyof typeof Kind]

export interface Program {
  readonly size: number
  readonly start: number
  readonly op: readonly Op[]
  readonly out: readonly number[]
  readonly other: readonly number[]
  /** The conditions of an `Assert`, as bits of `conditionsAt`. */
  readonly conditions: readonly number[]
  /** Instructions that lead to this one without consuming anything. */
  readonly before: readonly (readonly number[])[]
  readonly hasAssertions: boolean
  readonly matchAt: readonly number[]
  /** Characters that no instruction and no assertion distinguishes have the same class. */
  classOf(rune: number): number
  /** By class: the kind of neighbour that assertions see. */
  kindOf(characterClass: number): Kind
  /** The `Rune` instructions that take a character of the class. */
  takersOf(characterClass: number): readonly number[]
  /** False if a text lacks a literal that every match contains. @param has whether the text has the literal from a place on */
  mayMatch(has: (literal: string, from: number) => boolean): boolean
}

/** Numbers of `re2js` (Inst.js). */
const OPS: Readonly<Record<number, Op>> = {
  1: Op.Split,
  2: Op.Split,
  3: Op.Skip,
  4: Op.Assert,
  5: Op.Fail,
  6: Op.Match,
  7: Op.Skip,
  8: Op.Rune,
  9: Op.Rune,
  10: Op.Rune,
  11: Op.Rune,
}

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  matchRune(rune: number): boolean
}

/** Converts a compiled pattern. @throws Error for instructions that only lookbehind uses */
export function programOf(pattern: RE2JS): Program {
  const { prog, dfa, prefilter } = pattern.re2Input
  const instructions = prog.inst as readonly Instruction[]
  const op = instructions.map((instruction) => {
    const known = OPS[instruction.op]
    if (known === undefined)
      throw new Error(`the pattern has an unknown instruction of kind ${instruction.op}`)
    return known
  })
  const at = (wanted: Op) => op.flatMap((one, pc) => (one === wanted ? [pc] : []))
  const runes = at(Op.Rune)
  // The first character of each class represents the class.
  const bounds = [0, ...dfa.classBounds]
  const takers: (readonly number[])[] = []
  return {
    size: op.length,
    start: prog.start as number,
    op,
    out: instructions.map(({ out }) => out),
    other: instructions.map(({ arg }, pc) => (op[pc] === Op.Split ? arg : 0)),
    conditions: instructions.map(({ arg }, pc) => (op[pc] === Op.Assert ? arg : 0)),
    before: edgesBefore(op, instructions),
    hasAssertions: op.includes(Op.Assert),
    matchAt: at(Op.Match),
    classOf: (rune) => dfa.runeClass(rune) as number,
    kindOf: (one) => kindOfRune(bounds[one] as number),
    takersOf(one) {
      takers[one] ??= runes.filter((pc) => instructions[pc]?.matchRune(bounds[one] as number))
      return takers[one]
    },
    mayMatch: (has) => prefilter === null || prefilter.eval(inputOf(has), 0) === true,
  }
}

function edgesBefore(op: readonly Op[], instructions: readonly Instruction[]): readonly number[][] {
  const before: number[][] = op.map(() => [])
  for (const [pc, { out, arg }] of instructions.entries()) {
    const kind = op[pc]
    if (kind === Op.Split || kind === Op.Skip || kind === Op.Assert) before[out]?.push(pc)
    if (kind === Op.Split) before[arg]?.push(pc)
  }
  return before
}

/** The part of a `re2js` input that its search for literals uses. The matcher handles alternatives of many literals. */
function inputOf(has: (literal: string, from: number) => boolean) {
  return {
    hasString: ({ str }: { readonly str: string }, from: number) => has(str, from),
    hasAnyString: () => true,
  }
}

const LINE_FEED = 10

/** RE2's `\b` knows ASCII words only. */
export function kindOfRune(rune: number): Kind {
  if (rune === LINE_FEED) return Kind.LineBreak
  const isWord =
    (rune >= 97 && rune <= 122) || (rune >= 65 && rune <= 90) || (rune >= 48 && rune <= 57) || rune === 95
  return isWord ? Kind.Word : Kind.Other
}

const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const END_TEXT = 8
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32

/** The conditions that hold between two neighbours (Utils.js of `re2js`). */
export function conditionsAt(before: Kind, behind: Kind): number {
  let conditions = (before === Kind.Word) === (behind === Kind.Word) ? NO_WORD_BOUNDARY : WORD_BOUNDARY
  if (before === Kind.Edge) conditions |= BEGIN_TEXT | BEGIN_LINE
  if (before === Kind.LineBreak) conditions |= BEGIN_LINE
  if (behind === Kind.Edge) conditions |= END_TEXT | END_LINE
  if (behind === Kind.LineBreak) conditions |= END_LINE
  return conditions
}
