/** What the trained head sees of a piece of text beside its embedding: cues, form, and hashed n-grams. Pure; bounded. */
import type { Channel } from '../../insight/model.ts'
import { KINDS, type Kind } from '../insight.ts'
import type { Clause } from './clauses.rules.ts'
import type { Cues } from './cues/cues.ts'
import { isPoliteOnly, isSarcastic, NO_LUCK } from './cues/turns.ts'
import { hasKind } from './kinds.rules.ts'

/** Numbers of an embedding. */
export const DIMENSIONS = 512

/** Zeros and ones: a cue for each kind, then the form. The texts are clauses of one piece. */
export function formOf(clauses: readonly Clause[], channel: Channel, language: Cues): Float32Array {
  const place = { channel, isAnswered: true }
  const text = clauses.map((clause) => clause.text).join(' ')
  const words = text.split(' ').length
  const facts = [
    ...KINDS.map((kind) => clauses.some((clause) => hasKind(kind, clause, place, [language]))),
    clauses.some((clause) => isSarcastic(clause.text)),
    NO_LUCK.test(text),
    isPoliteOnly(text),
    clauses.some(({ question }) => question),
    text.includes('!'),
    channel === 'conversation',
    channel === 'feedback',
    channel === 'recording',
    words < 4,
    words > 15,
  ]
  return Float32Array.from(facts, Number)
}

/** The first values of `form` are the cues, in the order of `KINDS`. */
export function hasCue(form: Float32Array, kind: Kind): boolean {
  return (form[KINDS.indexOf(kind)] ?? 0) > 0
}

/** Hash values of the n-grams of a piece are below this. */
export const NGRAM_SIZE = 1 << 15

const MAX_WORDS = 60
const SHORTEST = 3
const LONGEST = 5
const SORT = { word: 1, pair: 2, characters: 3 } as const

/** Hash values of words, pairs of words, and runs of 3 to 5 characters within words. No value occurs twice. */
export function ngramsOf(text: string): Uint32Array {
  const words = text.match(/[\p{L}\p{N}']{1,20}|[?!]|\p{Extended_Pictographic}/gu) ?? []
  const hashes = new Set<number>()
  let before = '^'
  for (const word of words.slice(0, MAX_WORDS)) {
    hashes.add(hashOf(word, SORT.word))
    hashes.add(hashOf(`${before} ${word}`, SORT.pair))
    before = word
    const framed = `<${word}>`
    for (let length = SHORTEST; length <= LONGEST; length++) {
      for (let at = 0; at + length <= framed.length; at++) {
        hashes.add(hashOf(framed.slice(at, at + length), SORT.characters))
      }
    }
  }
  hashes.add(hashOf(`${before} $`, SORT.pair))
  return Uint32Array.from(hashes)
}

/** FNV-1a with a final mix, for each sort of n-gram another one. @returns a number below `size`, a power of two */
export function hashOf(text: string, sort: number, size = NGRAM_SIZE): number {
  let hash = 2166136261 ^ sort
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 12)) & (size - 1)
}
