/**
 * The words at the end of a conversation: which ones are read, and their n-grams. What a word tells depends on where it stands, so the
 * same word has another n-gram in each place. Pure; bounded.
 */
import { hashOf } from './features.rules.ts'
import type { Reading } from './reading.rules.ts'

/** UTF-16 code units of the end of the customer's last message. */
const MAX_LAST = 300
/** UTF-16 code units of the beginning of the company's words. What they offer or refuse mostly stands there. */
const MAX_REPLY = 200
/** UTF-16 code units of the customer's first message. */
const MAX_FIRST = 300
/** The length of the last message counts in steps of `WORDS_A_STEP` words, up to this number of steps. */
const MAX_STEPS = 9
const WORDS_A_STEP = 4
/** Earlier messages are counted up to this number. */
const MAX_EARLIER = 6

/** Hash values of the n-grams are below this. */
export const END_NGRAM_SIZE = 1 << 16

/** Masked, in lower case, and empty where there are none. */
export interface EndWords {
  /** The customer's last message. */
  readonly last: string
  /** The company's words before it. */
  readonly before: string
  /** The company's words after it. */
  readonly after: string
  /** The customer's first message, if it is not the last. */
  readonly first: string
  /** Messages of the customer before the last, at most `MAX_EARLIER`. */
  readonly earlier: number
}

export function endWordsOf({ messages, endsWithReply, lastReply }: Reading): EndWords {
  const last = messages.at(-1)
  return {
    last: plain(last?.masked ?? '').slice(-MAX_LAST),
    before: plain(last?.reply ?? '').slice(0, MAX_REPLY),
    after: plain(endsWithReply ? (lastReply ?? '') : '').slice(0, MAX_REPLY),
    first: plain(messages.length > 1 ? (messages[0]?.masked ?? '') : '').slice(0, MAX_FIRST),
    earlier: Math.min(MAX_EARLIER, Math.max(0, messages.length - 1)),
  }
}

const plain = (text: string) => text.toLowerCase().replace(/\s+/g, ' ').trim()

/** The sorts of n-grams. Each has hash values of its own. */
const SORT = {
  last: 1,
  lastSentence: 2,
  firstSentence: 3,
  before: 4,
  after: 5,
  customerEnds: 6,
  companyEnds: 7,
  againFromFirst: 8,
  earlier: 9,
  length: 10,
} as const

/** Hash values of words and pairs of words, each by its place. No value occurs twice. */
export function endNgramsOf({ last, before, after, first, earlier }: EndWords): Uint32Array {
  const hashes = new Set<number>()
  const add = (gram: string, sort: number) => hashes.add(hashOf(gram, sort, END_NGRAM_SIZE))
  const addAll = (text: string, sort: number) => {
    for (const gram of gramsOf(wordsOf(text))) add(gram, sort)
  }
  const sentences = last.split(/(?<=[.!?]) /)
  const lastWords = wordsOf(last)
  for (const gram of gramsOf(lastWords)) add(gram, SORT.last)
  addAll(sentences.at(-1) ?? '', SORT.lastSentence)
  addAll(sentences[0] ?? '', SORT.firstSentence)
  addAll(before, SORT.before)
  addAll(after, SORT.after)
  for (const word of lastWords) add(word, after === '' ? SORT.customerEnds : SORT.companyEnds)
  const firstWords = new Set(wordsOf(first))
  for (const word of lastWords) if (firstWords.has(word)) add(word, SORT.againFromFirst)
  add(String(earlier), SORT.earlier)
  add(String(Math.min(MAX_STEPS, Math.floor(lastWords.length / WORDS_A_STEP))), SORT.length)
  return Uint32Array.from(hashes)
}

/** Words, numbers as 0, and each other sign. */
const wordsOf = (text: string): readonly string[] =>
  (text.match(/[\p{L}']+|\p{N}+|[^\s\p{L}\p{N}]/gu) ?? []).map((word) => (/^\p{N}/u.test(word) ? '0' : word))

/** Words and pairs of words. */
const gramsOf = (words: readonly string[]): readonly string[] =>
  words.flatMap((word, at) => (at === 0 ? [word] : [word, `${words[at - 1]} ${word}`]))
