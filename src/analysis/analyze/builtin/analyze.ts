/** The built-in analyser, which runs in the text process. */
import type { Channel } from '../../../kernel/channel.ts'
import { type Found, type Insight, KINDS, ratingOf, type Sentiment, type Subject } from '../insight.ts'
import {
  type Classifier,
  kindVotes,
  likelihood,
  outcomeOfShares,
  sentimentOf,
  shares,
  votesOf,
} from './classifier.rules.ts'
import type { Cues } from './cues/cues.ts'
import { DUTCH } from './cues/dutch.ts'
import { ENGLISH } from './cues/english.ts'
import { FRENCH } from './cues/french.ts'
import { GERMAN } from './cues/german.ts'
import { JAPANESE } from './cues/japanese.ts'
import { PORTUGUESE } from './cues/portuguese.ts'
import { SPANISH } from './cues/spanish.ts'
import { isSarcastic } from './cues/turns.ts'
import { type FoundByRule, findingsByRules } from './findings.rules.ts'
import { endInput, type Input, moodInput, pieceInput, wholeInput } from './inputs.rules.ts'
import { ANALYZED, type Language } from './language.rules.ts'
import type { DetectLanguage } from './language.ts'
import { judge } from './outcome.rules.ts'
import { type Piece, piecesOf } from './pieces.rules.ts'
import { type Reading, readSubject, wordsOfCustomer } from './reading.rules.ts'
import type { Embed } from './vectors/vectors.ts'

const CUES: Readonly<Partial<Record<Language, Cues>>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  pt: PORTUGUESE,
  nl: DUTCH,
  ja: JAPANESE,
}
const ALL_CUES = Object.values(CUES)

/** What the second pass needs. */
export interface Scorer {
  readonly embed: Embed
  readonly classifier: Classifier
}

/**
 * The insight of each subject, in their order.
 * @param scorer null: rules only
 * @param analyzed languages; others are told apart and not analysed
 */
export function analyzeSubjects(
  subjects: readonly Subject[],
  detect: DetectLanguage,
  scorer: Scorer | null,
  analyzed: ReadonlySet<string> = ANALYZED,
): readonly Insight[] {
  return subjects.map((subject) => {
    const reading = readSubject(subject)
    const language = detect(wordsOfCustomer(reading))
    if (language !== null && !analyzed.has(language))
      return { language, supported: false, outcome: null, sentiment: null, findings: [] }
    return scorer === null ? byRules(reading, language) : byClassifier(subject, reading, language, scorer)
  })
}

/** A text whose language cannot be told, or has no cues, is compared with the cues of all. */
function cuesOf(language: string | null): readonly Cues[] {
  const cues = CUES[language as Language]
  return cues === undefined ? ALL_CUES : [cues]
}

function byRules(reading: Reading, language: string | null): Insight {
  const found = findingsByRules(reading, cuesOf(language))
  return { language, supported: true, ...judge(reading, found), findings: found.map(plain) }
}

const plain = ({ isCertain: _, ...found }: FoundByRule): Found => found

/** What the classifier reads of a subject. */
export interface Inputs {
  readonly pieces: readonly Piece[]
  readonly ofPieces: readonly Input[]
  readonly ofWhole: Input
  /** Null for feedback, which has no end. */
  readonly ofEnd: Input | null
  readonly ofMood: Input
}

/** Also used by the training, so that both read the same. */
export function inputsOf(subject: Subject, reading: Reading, embed: Embed): Inputs {
  const { channel, said } = subject
  const pieces = piecesOf(reading)
  return {
    pieces,
    ofPieces: pieces.map((piece) => pieceInput(piece, channel, ALL_CUES, embed)),
    ofWhole: wholeInput(reading, embed),
    ofEnd: channel === 'feedback' ? null : endInput(subject, reading, embed),
    ofMood: moodInput(reading, said, embed),
  }
}

/** These answer to the company, so they stand after its words and not in feedback. */
const ANSWERS: ReadonlySet<string> = new Set(['wrong_answer', 'resolved_confirmation'])
const PLEASED: ReadonlySet<string> = new Set(['praise', 'resolved_confirmation'])

/** False where the kind makes no sense, whatever the classifier says of the piece. */
export function mayHave(kind: number, { isAnswered, text }: Piece, channel: Channel): boolean {
  const name = KINDS[kind] as string
  if (ANSWERS.has(name) && (!isAnswered || channel === 'feedback')) return false
  return !PLEASED.has(name) || !isSarcastic(text)
}

function byClassifier(
  subject: Subject,
  reading: Reading,
  language: string | null,
  { embed, classifier }: Scorer,
): Insight {
  const { channel } = subject
  const { pieces, ofPieces, ofWhole, ofEnd, ofMood } = inputsOf(subject, reading, embed)
  const { votes, best } = kindVotes(classifier, { pieces: ofPieces, whole: ofWhole }, (kind, place) =>
    mayHave(kind, pieces[place] as Piece, channel),
  )
  const findings = KINDS.flatMap((kind, at): readonly Found[] => {
    const calibration = classifier.calibration[channel][kind]
    const confidence = likelihood(votes[at] ?? 0, calibration)
    const piece = pieces[best[at] ?? -1]
    if (piece === undefined || confidence < calibration.threshold) return []
    const { index, from, to } = piece
    return [{ kind, tier: 'likely', confidence, rating: ratingOf(kind), index, from, to }]
  })
  return {
    language,
    supported: true,
    outcome:
      ofEnd === null
        ? null
        : outcomeOfShares(shares(votesOf(classifier.outcome, ofEnd)), classifier.certainty),
    sentiment: soberly(
      sentimentOf(
        [...shares(votesOf(classifier.sentiment, ofMood))],
        classifier.certainty.sentiment[channel],
      ),
      mocks(pieces),
      findings,
    ),
    findings,
  }
}

/** True if the last words that say something are mockery. */
export const mocks = (pieces: readonly Piece[]): boolean =>
  pieces.some(({ index, text }) => index === pieces.at(-1)?.index && isSarcastic(text))

/** Mockery is not positive, and neither is who has a grievance and praises nothing. */
export function soberly(
  sentiment: Sentiment | null,
  isMockery: boolean,
  findings: readonly Pick<Found, 'rating'>[],
): Sentiment | null {
  if (sentiment !== 'positive') return sentiment
  const has = (rating: Found['rating']) => findings.some((finding) => finding.rating === rating)
  return isMockery || (has('negative') && !has('positive')) ? 'negative' : sentiment
}
