/**
 * What of a text is indexed, and in which text search configuration. Pure.
 *
 * PostgreSQL's parser finds words between spaces and punctuation. Chinese and Japanese have none between words, so pairs of their
 * characters take the place of words.
 */
import type { Field } from '../feedback/model.ts'
import type { Utterance } from '../transcripts/model.ts'

/** UTF-16 code units of a passage. */
export const MAX_PASSAGE = 20_000
/** Seconds of speech in a passage. */
const PASSAGE_SECONDS = 60
/** A longer run without white space is cut. With its mark, a word of a tsvector must stay below 2 KB. */
const MAX_RUN = 400
/** Code units by which a language is detected. */
const LANGUAGE_SAMPLE = 1_000

/** The text search configurations of languages (ISO 639-1). */
const CONFIGURATIONS: Readonly<Record<string, string>> = {
  en: 'english',
  de: 'german',
  fr: 'french',
  es: 'spanish',
  pt: 'portuguese',
  nl: 'dutch',
}
/** Words unchanged, in lower case. */
const SIMPLE = 'simple'

/** The configuration for a language; null where the language is unknown. */
export function configurationOf(language: string | null): string | null {
  return language === null ? null : (CONFIGURATIONS[language] ?? SIMPLE)
}

/** Han, Hiragana and Katakana, with the marks that belong to them. */
const WITHOUT_SPACES = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+`
const RUN_WITHOUT_SPACES = new RegExp(WITHOUT_SPACES, 'gu')

/** True for text with Chinese or Japanese characters. */
export const hasPairs = (text: string): boolean => new RegExp(WITHOUT_SPACES, 'u').test(text)

/** Runs of Chinese and Japanese characters in a text. */
export const runsOf = (text: string): readonly string[] => text.match(RUN_WITHOUT_SPACES) ?? []

/** The text with each run of Chinese or Japanese characters replaced by its pairs of characters. */
export function paired(text: string): string {
  return text.replace(RUN_WITHOUT_SPACES, (run) => ` ${pairsOf(run).join(' ')} `)
}

/** 請求書 → 請求 求書. */
export function pairsOf(run: string): readonly string[] {
  const characters = [...run]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** Punctuation and symbols beyond ASCII. A database with the locale C takes them for letters. */
const FOREIGN_PUNCTUATION = /(?!\p{ASCII}|[々ー])[\p{P}\p{S}\p{Z}\uE000\uE001]/gu

/** The text with spaces in place of punctuation that PostgreSQL may take for letters. */
export const separated = (text: string): string => text.replace(FOREIGN_PUNCTUATION, ' ')

/** The distinct characters of the text that `separated` replaces. */
export const foreignPunctuation = (text: string): readonly string[] => [
  ...new Set(text.match(FOREIGN_PUNCTUATION) ?? []),
]

/** The text that is indexed. */
export function indexedText(text: string): string {
  const cut = separated(text.slice(0, MAX_PASSAGE)).replace(/\S+/g, brokenRun)
  return paired(cut.toWellFormed())
}

function brokenRun(run: string): string {
  if (run.length <= MAX_RUN) return run
  return (run.match(/.{1,400}/gsu) ?? []).join(' ')
}

/** The customer's words by which the language of a conversation is detected. */
export const languageSample = (texts: readonly string[]): string => texts.join('\n').slice(0, LANGUAGE_SAMPLE)

export interface FieldPassage {
  readonly place: number
  readonly text: string
}

/** The text fields that are the feedback itself. */
export function fieldPassages(fields: readonly Field[]): readonly FieldPassage[] {
  return fields.flatMap(({ category, value }, place) => {
    const text = category === 'content' && typeof value === 'string' ? value : ''
    return text.trim() === '' ? [] : [{ place, text }]
  })
}

export interface SpeechPassage {
  /** Ordinals of the first and last utterance. */
  readonly place: number
  readonly lastPlace: number
  readonly startSec: number
  readonly text: string
}

/** Speech in stored order, cut after a minute or 20,000 characters. */
export function speechPassages(utterances: readonly Utterance[]): readonly SpeechPassage[] {
  const passages: SpeechPassage[] = []
  for (const [place, { startSec, text }] of utterances.entries()) {
    const last = passages.at(-1)
    const joins =
      last !== undefined &&
      startSec < last.startSec + PASSAGE_SECONDS &&
      last.text.length + text.length < MAX_PASSAGE
    if (joins) passages[passages.length - 1] = { ...last, lastPlace: place, text: `${last.text}\n${text}` }
    else passages.push({ place, lastPlace: place, startSec, text })
  }
  return passages
}
