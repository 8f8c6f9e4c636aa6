/** Sentiment by a public list of words: AFINN-165 (Nielsen 2011), and its machine translations. */
import german from 'afinn-165-multilingual/build/AFINN-de.json'
import english from 'afinn-165-multilingual/build/AFINN-en.json'
import spanish from 'afinn-165-multilingual/build/AFINN-es.json'
import french from 'afinn-165-multilingual/build/AFINN-fr.json'
import italian from 'afinn-165-multilingual/build/AFINN-it.json'
import japanese from 'afinn-165-multilingual/build/AFINN-ja.json'
import dutch from 'afinn-165-multilingual/build/AFINN-nl.json'
import portuguese from 'afinn-165-multilingual/build/AFINN-pt.json'
import type { Sentiment } from '../insight.ts'

const listOf = (list: Readonly<Record<string, number | null>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(list).map(([word, tone]) => [word.toLowerCase(), tone ?? 0]))

const LISTS: Readonly<Record<string, ReadonlyMap<string, number>>> = {
  de: listOf(german),
  en: listOf(english),
  es: listOf(spanish),
  fr: listOf(french),
  it: listOf(italian),
  ja: listOf(japanese),
  nl: listOf(dutch),
  pt: listOf(portuguese),
}

/** The sign of the sum of its words' tones. @param language ISO 639-1; others are neutral */
export function toneOf(text: string, language: string): Sentiment {
  const words = text.toLowerCase().match(/\p{L}[\p{L}'-]*/gu) ?? []
  const tone = words.reduce((sum, word) => sum + (LISTS[language]?.get(word) ?? 0), 0)
  return tone > 0 ? 'positive' : tone < 0 ? 'negative' : 'neutral'
}
