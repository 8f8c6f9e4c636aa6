/** The built-in analyser, which runs in the text process. */
import type { Found, Insight, Subject } from '../insight.ts'
import { combine, type Scored } from './combine.rules.ts'
import type { Cues } from './cues/cues.ts'
import { DUTCH } from './cues/dutch.ts'
import { ENGLISH } from './cues/english.ts'
import { FRENCH } from './cues/french.ts'
import { GERMAN } from './cues/german.ts'
import { JAPANESE } from './cues/japanese.ts'
import { PORTUGUESE } from './cues/portuguese.ts'
import { SPANISH } from './cues/spanish.ts'
import type { Embed } from './embed.ts'
import { type Ending, endInputOf, outcomeOf, outcomeScores, repliesOf } from './ending.rules.ts'
import { endWordsOf } from './ending-words.rules.ts'
import { factsOf } from './facts.rules.ts'
import { ngramsOf } from './features.rules.ts'
import { type FoundByRule, findingsByRules } from './findings.rules.ts'
import { applyHead, applyNetwork, applyNgrams, inputOf } from './head.rules.ts'
import type { Head } from './head.ts'
import { type Judge, likelyKinds, likelySentiment } from './judge.rules.ts'
import { ANALYZED, LANGUAGES, type Language } from './language.rules.ts'
import type { DetectLanguage } from './language.ts'
import { judge } from './outcome.rules.ts'
import { type Piece, piecesOf } from './pieces.rules.ts'
import { type Reading, readSubject, wordsOfCustomer } from './reading.rules.ts'
import { isTrouble, shortMessagesOf, withShort } from './short.rules.ts'

const CUES: Readonly<Record<Language, Cues>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  pt: PORTUGUESE,
  nl: DUTCH,
  ja: JAPANESE,
}

/** What the second pass needs. */
export interface Scorer {
  readonly embed: Embed
  readonly head: Head
  /** Reads short messages again. */
  readonly short: Head
  readonly judge: Judge
  readonly ending: Ending
}

/**
 * The insight of each subject, in their order. The texts of all of them are embedded together, which takes about half the time.
 * @param scorer null: rules only. With one, English is also read by the trained head
 * @param analyzed languages; others are told apart and not analysed
 */
export async function analyzeSubjects(
  subjects: readonly Subject[],
  detect: DetectLanguage,
  scorer: Scorer | null,
  analyzed: ReadonlySet<string> = ANALYZED,
): Promise<readonly Insight[]> {
  const read = subjects.map((subject) => readOne(subject, detect, analyzed))
  if (scorer === null) return read.map(({ insight }) => insight)
  const texts = read.map(textsToEmbed)
  const embeddings = await scorer.embed(
    texts.flatMap(({ pieces, replies }) => [...pieces.map(({ text }) => text), ...replies]),
  )
  let done = 0
  const next = () => embeddings[done++] ?? new Float32Array()
  return read.map((one, index) => {
    const { pieces = [], replies = [] } = texts[index] ?? {}
    const scored = pieces.map((piece) => scoredOf(piece, next(), scorer.head))
    const embedded = { scored, replies: replies.map(next) }
    return one.isEnglish ? readAgain(one, embedded, scorer) : one.insight
  })
}

/** Texts of a subject, read by the trained heads. Feedback has no end. */
function textsToEmbed({ reading, isEnglish }: Read) {
  return {
    pieces: isEnglish ? piecesOf(reading, ENGLISH) : [],
    replies: isEnglish && reading.channel !== 'feedback' ? repliesOf(endWordsOf(reading)) : [],
  }
}

/** A subject as the rules read it. */
interface Read {
  readonly reading: Reading
  readonly byRules: readonly FoundByRule[]
  /** True if the trained head may read it: only English that is analysed. */
  readonly isEnglish: boolean
  readonly insight: Insight
}

function readOne(subject: Subject, detect: DetectLanguage, analyzed: ReadonlySet<string>): Read {
  const reading = readSubject(subject)
  const words = wordsOfCustomer(reading)
  const language = detect(words)
  const known = LANGUAGES.find((one) => one === language)
  if (language !== null && !analyzed.has(language)) {
    const insight = { language, supported: false, outcome: null, sentiment: 'neutral', findings: [] } as const
    return { reading, byRules: [], isEnglish: false, insight }
  }
  // A text whose language cannot be told is read in all of them.
  const byRules = findingsByRules(reading, known === undefined ? Object.values(CUES) : [CUES[known]])
  const insight = { language, supported: true, ...judge(reading, byRules), findings: byRules.map(plain) }
  return {
    reading,
    byRules,
    isEnglish: known === 'en' || (known === undefined && isPlainLatin(words)),
    insight,
  }
}

const plain = ({ isCertain: _, ...found }: FoundByRule): Found => found

/** English needs no letter with an accent. */
function isPlainLatin(text: string): boolean {
  return !/[^\p{ASCII}\p{Extended_Pictographic}\p{P}\p{S}\s]/u.test(text)
}

/** What the trained head says of a piece. */
export function scoredOf(piece: Piece, embedding: Float32Array, head: Head): Scored {
  const network = applyNetwork(head.layers, inputOf(embedding, piece.form))
  return { piece, embedding, scores: applyHead(network, applyNgrams(head.ngrams, ngramsOf(piece.text))) }
}

interface Embedded {
  readonly scored: readonly Scored[]
  /** Embeddings of what the company said around the customer's last message. */
  readonly replies: readonly Float32Array[]
}

function readAgain(
  { reading, byRules, insight }: Read,
  { scored, replies }: Embedded,
  { judge: trained, short, ending }: Scorer,
): Insight {
  const { channel } = reading
  const facts = factsOf(reading, byRules, scored, insight)
  const found = combine(byRules, scored, channel, likelyKinds(trained, facts), trained.thresholds)
  const ofShort = shortMessagesOf(reading, scored).map(({ piece, embedding }) =>
    scoredOf(piece, embedding, short),
  )
  const findings = withShort(found, byRules, ofShort, channel)
  const sentiment = likelySentiment(trained, facts)
  const ofMessage = (at: number) =>
    scored.filter(({ piece }) => piece.index === reading.messages.at(at)?.index)
  const messages = [-1, -2].map((at) => ofMessage(at).map(({ embedding }) => embedding))
  const isInTrouble = isTrouble(
    ofMessage(-1).map(({ piece, embedding }) => scoredOf(piece, embedding, short)),
  )
  const ofEnd = endInputOf({ facts, words: endWordsOf(reading), replies, messages, isInTrouble })
  const outcome =
    channel === 'feedback' ? null : outcomeOf(outcomeScores(ending, ofEnd), isInTrouble, ending.certainty)
  const isGrievance =
    findings.some(({ rating }) => rating === 'negative') &&
    !findings.some(({ rating }) => rating === 'positive')
  return {
    ...insight,
    outcome,
    // With negative findings only, the sentiment cannot be positive.
    sentiment: sentiment === 'positive' && isGrievance ? 'negative' : sentiment,
    findings,
  }
}
