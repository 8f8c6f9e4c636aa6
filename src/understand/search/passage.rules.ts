/**
 * What of a text is indexed, and in which text search configuration. Pure.
 */

import type { Utterance } from '../../calls/transcripts/model.ts'
import type { Field } from '../../hear/feedback/model.ts'
import { textOf, wordsOf } from '../../platform/text/words.rules.ts'

/** UTF-16 code units of a passage. */
export const MAX_PASSAGE = 20_000
/** Seconds of speech in a passage. */
const PASSAGE_SECONDS = 60
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

/** The text that is indexed. */
export const indexedText = (text: string): string => textOf(wordsOf(text.slice(0, MAX_PASSAGE)))

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
