/** The built-in analyser, which runs in the text process. */
import type { Insight, Subject } from '../insight.ts'
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
import { ngramsOf } from './features.rules.ts'
import { findingsByRules } from './findings.rules.ts'
import { applyHead, applyNetwork, applyNgrams, inputOf } from './head.rules.ts'
import type { Head } from './head.ts'
import { ANALYZED, LANGUAGES, type Language } from './language.rules.ts'
import type { DetectLanguage } from './language.ts'
import { judge } from './outcome.rules.ts'
import { piecesOf } from './pieces.rules.ts'
import { type Reading, readSubject, wordsOfCustomer } from './reading.rules.ts'

const CUES: Readonly<Record<Language, Cues>> = {
  en: ENGLISH,
  de: GERMAN,
  fr: FRENCH,
  es: SPANISH,
  pt: PORTUGUESE,
  nl: DUTCH,
  ja: JAPANESE,
}

/** What the trained head needs. */
export interface Scorer {
  readonly embed: Embed
  readonly head: Head
}

/**
 * @param scorer null: rules only. With one, English is also read by the trained head
 * @param analyzed languages; others are told apart and not analysed
 */
export async function analyzeSubject(
  subject: Subject,
  detect: DetectLanguage,
  scorer: Scorer | null,
  analyzed: ReadonlySet<string> = ANALYZED,
): Promise<Insight> {
  const reading = readSubject(subject)
  const words = wordsOfCustomer(reading)
  const language = detect(words)
  const known = LANGUAGES.find((one) => one === language)
  if (language !== null && !analyzed.has(language))
    return { language, supported: false, outcome: null, sentiment: 'neutral', findings: [] }
  // A text whose language cannot be told is read in all of them.
  const byRules = findingsByRules(reading, known === undefined ? Object.values(CUES) : [CUES[known]])
  const isEnglish = known === 'en' || (known === undefined && isPlainLatin(words))
  const scored = scorer !== null && isEnglish ? await scoresOf(reading, scorer) : []
  const findings =
    scorer === null || !isEnglish ? byRules : combine(byRules, scored, subject.channel, scorer.head)
  return { language, supported: true, ...judge(reading, findings, scored), findings }
}

/** English needs no letter with an accent. */
function isPlainLatin(text: string): boolean {
  return !/[^\p{ASCII}\p{Extended_Pictographic}\p{P}\p{S}\s]/u.test(text)
}

async function scoresOf(reading: Reading, { embed, head }: Scorer): Promise<readonly Scored[]> {
  const pieces = piecesOf(reading, ENGLISH)
  const embeddings = await embed(pieces.map(({ text }) => text))
  return pieces.map((piece, index) => ({
    piece,
    scores: applyHead(
      applyNetwork(head.layers, inputOf(embeddings[index] ?? new Float32Array(), piece.form)),
      applyNgrams(head.ngrams, ngramsOf(piece.text)),
    ),
  }))
}
