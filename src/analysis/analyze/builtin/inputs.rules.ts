/**
 * What the classifier reads: of each piece of text, of the whole text of the customer, of the end of a conversation, and of the mood at the end.
 * Each is a vector of numbers and a set of n-grams. Pure; bounded.
 */
import type { Channel } from '../../../kernel/channel.ts'
import { KINDS, type Subject } from '../insight.ts'
import { type Arc, arcOf } from './arc.rules.ts'
import type { Cues } from './cues/cues.ts'
import { isPoliteOnly, isSarcastic, NO_LUCK } from './cues/turns.ts'
import { factsOf } from './facts.rules.ts'
import { addGrams, addMark } from './grams.rules.ts'
import { hasKind } from './kinds.rules.ts'
import { REFUSAL } from './outcome.rules.ts'
import type { Piece } from './pieces.rules.ts'
import type { Reading } from './reading.rules.ts'
import type { Embed } from './vectors/vectors.ts'

export interface Input {
  readonly dense: Float32Array
  readonly grams: Uint32Array
}

const lower = (text: string) => text.toLowerCase().replace(/\s+/g, ' ').trim()
const sentencesOf = (text: string) =>
  text.split(/(?<=[.!?。！？])\s*|\n/u).filter((part) => /\p{L}/u.test(part))

/** Facts count less than the numbers of a vector, of which there are many. */
const FACT = 0.5
const MAX_PIECE_WORDS = 80

/** Of a piece. `languages`: whose cues it is compared with. */
export function pieceInput(piece: Piece, channel: Channel, languages: readonly Cues[], embed: Embed): Input {
  const { text, isQuestion, isContrast, isAnswered } = piece
  const clause = { text, from: 0, to: text.length, contrast: isContrast, question: isQuestion }
  const words = text.split(' ').length
  const facts = [
    ...KINDS.map((kind) => hasKind(kind, clause, { channel, isAnswered: true }, languages)),
    isSarcastic(text),
    NO_LUCK.test(text),
    isPoliteOnly(text),
    isQuestion,
    text.includes('!'),
    isContrast,
    channel === 'conversation',
    channel === 'feedback',
    channel === 'recording',
    isAnswered,
    words < 4,
    words > 15,
  ]
  const grams = new Set<number>()
  addGrams(grams, text, { place: '', maxWords: MAX_PIECE_WORDS, characters: true })
  return {
    dense: Float32Array.from([...embed(text), ...facts.map((fact) => (fact ? FACT : 0))]),
    grams: Uint32Array.from(grams),
  }
}

const MANY_MESSAGES = 8
const LONG_TEXT = 1_000

/** Of all that the customer said. */
export function wholeInput({ channel, messages }: Reading, embed: Embed): Input {
  const own = messages.filter(({ isTask }) => !isTask)
  const all = own.map(({ masked }) => masked.trim().toLowerCase()).join(' \n ')
  const first = own[0]?.masked.toLowerCase() ?? ''
  const grams = new Set<number>()
  addGrams(grams, all, { place: 'w', maxWords: 250, characters: false })
  return {
    dense: Float32Array.from([
      ...embed(all),
      ...embed(first.slice(0, 500)),
      ...(['feedback', 'conversation', 'recording'] as const).map((one) => Number(channel === one)),
      Math.min(1, own.length / MANY_MESSAGES),
      Math.min(1, all.length / LONG_TEXT),
    ]),
    grams: Uint32Array.from(grams),
  }
}

/** Of the end of a conversation. */
export function endInput({ said }: Pick<Subject, 'said'>, reading: Reading, embed: Embed): Input {
  const arc = arcOf(said)
  const last = lower(arc.last).slice(-600)
  const before = lower(arc.before).slice(-500)
  const after = lower(arc.after).slice(0, 500)
  const first = lower(arc.first).slice(0, 400)
  const sentences = sentencesOf(last)
  const facts = [
    arc.isThankful,
    arc.isClosing,
    arc.isThankfulAfter,
    after !== '',
    arc.after.trimEnd().endsWith('?'),
    last.endsWith('?'),
    last.includes('?'),
    last === '',
    before === '',
    NO_LUCK.test(last),
    REFUSAL.test(after),
    REFUSAL.test(before),
    arc.turns <= 1,
    last.length < 40,
  ]
  return {
    dense: Float32Array.from([
      ...[last, sentences.at(-1) ?? '', before, after, first].flatMap((text) => [...embed(text)]),
      ...facts.map(Number),
      Math.min(1, arc.turns / 6),
      Math.min(1, last.length / 300),
      ...factsOf(arc, said, reading),
    ]),
    grams: endGrams(arc, { last, before, after, first, sentences }),
  }
}

interface End {
  readonly last: string
  readonly before: string
  readonly after: string
  readonly first: string
  readonly sentences: readonly string[]
}

/** What a word tells depends on where it stands, so each place has n-grams of its own. */
function endGrams(arc: Arc, { last, before, after, first, sentences }: End): Uint32Array {
  const grams = new Set<number>()
  const add = (text: string, place: string, maxWords: number, characters = false) =>
    addGrams(grams, text, { place, maxWords, characters })
  add(last, 'L', 120, true)
  add(sentences.at(-1) ?? '', 'S', 120)
  add(sentences[0] ?? '', 'F', 120)
  add(before.slice(-300), 'B', 60)
  add(after.slice(0, 300), 'A', 60)
  add(lower(arc.earlier).slice(-300), 'P', 40)
  const ofFirst = new Set(first.match(/[\p{L}']{3,24}/gu))
  for (const word of last.match(/[\p{L}']{3,24}/gu) ?? []) {
    addMark(grams, `${word} ${after === '' ? 'customer ends' : 'company ends'}`)
    if (ofFirst.has(word)) addMark(grams, `again ${word}`)
  }
  return Uint32Array.from(grams)
}

/** Of the mood at the end of the customer's words. */
export function moodInput({ channel, messages }: Reading, said: Subject['said'], embed: Embed): Input {
  const texts = messages.map(({ masked }) => masked.replace(/\s+/g, ' ').trim())
  const all = texts.join(' \n ').slice(-3_000)
  const last = texts.at(-1) ?? ''
  const plain = channel === 'feedback' ? '' : arcOf(said).last
  const sentence = sentencesOf(all).at(-1) ?? ''
  const grams = new Set<number>()
  addGrams(grams, all.toLowerCase(), { place: 'w', maxWords: 200, characters: true })
  addGrams(grams, last.toLowerCase(), { place: 'l', maxWords: 80, characters: false })
  addGrams(grams, plain.toLowerCase(), { place: 'a', maxWords: 80, characters: false })
  addGrams(grams, sentence.toLowerCase(), { place: 's', maxWords: 40, characters: false })
  return {
    dense: Float32Array.from([
      ...[all, plain || last, sentence].flatMap((text) => [...embed(text)]),
      Number(channel === 'feedback'),
      Number(channel === 'conversation'),
      Number(last.includes('!')),
      Number(/\b[A-Z]{4,}\b/.test(last)),
      Math.min(1, texts.length / 6),
      Math.min(1, all.length / 500),
    ]),
    grams: Uint32Array.from(grams),
  }
}
