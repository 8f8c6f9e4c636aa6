/**
 * The program of a compiled RE2 pattern, as the matcher needs it: instructions, character classes and the edges between
 * instructions that consume nothing.
 *
 * It is read out of `re2js`, which parses, simplifies and compiles. Its types are loose here, so this file is the only one that
 * looks inside; the property test against `re2js` itself shows when another version of it means something else.
 */
import type { RE2JS } from 're2js'

/** What an instruction does. `Split` prefers `out` to `other`; `Assert` passes where its `conditions` hold. */
export const Op = { Fail: 0, Match: 1, Rune: 2, Split: 3, Skip: 4, Assert: 5 } as const
export type Op = (typeof Op)[keyof typeof Op]

/** What stands before or behind a position, as far as assertions care. `Edge` is the begin or the end of the text. */
export const Kind = { Other: 0, LineBreak: 1, Word: 2, Edge: 3 } as const
export type Kind = (typeof Kind)[keyof typeof Kind]

export interface Program {
  readonly size: number
  readonly start: number
  readonly op: readonly Op[]
  readonly out: readonly number[]
  readonly other: readonly number[]
  /** Of an `Assert`: bits as `conditionsAt` gives them. */
  readonly conditions: readonly number[]
  /** Instructions that lead to this one without consuming anything. */
  readonly before: readonly (readonly number[])[]
  readonly hasAssertions: boolean
  readonly matchAt: readonly number[]
  /** Characters that no instruction and no assertion tells apart have one class. */
  classOf(rune: number): number
  /** By class, what assertions see in it. */
  kindOf(characterClass: number): Kind
  /** The `Rune` instructions that take a character of the class. */
  takersOf(characterClass: number): readonly number[]
  /** False where the text lacks a literal that every match holds. */
  mayMatch(text: string): boolean
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

/** Takes the program out of a compiled pattern. @throws Error for instructions that only lookbehind has */
export function programOf(pattern: RE2JS): Program {
  const { prog, dfa, prefilter } = pattern.re2Input
  const instructions = prog.inst as readonly Instruction[]
  const op = instructions.map((instruction) => {
    const known = OPS[instruction.op]
    if (known === undefined) throw new Error(`an instruction of kind ${instruction.op} in a pattern`)
    return known
  })
  const at = (wanted: Op) => op.flatMap((one, pc) => (one === wanted ? [pc] : []))
  const runes = at(Op.Rune)
  // The first character of each class stands for all of it.
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
    mayMatch: (text) => prefilter === null || prefilter.eval(inputOf(text), 0) === true,
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

/** The part of an input of `re2js` that its search for literals uses. Alternatives of many literals are left to the matcher. */
function inputOf(text: string) {
  return {
    hasString: ({ str }: { readonly str: string }, from: number) => text.includes(str, from),
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
