/**
 * Turns text into terms that can be compared: lower case, without accents and grammar words, English words reduced to their
 * stem. Pure.
 */
import { stemmer } from 'stemmer'
import { streamSafe } from '../../platform/text/normal-form.rules.ts'

/** Grammar words of English, and words that introduce a question. */
const COMMON = new Set(
  'a about all also am an and any are as at be been but by can could did do does doing done each either every explain find for from get give had happen happens has have he hello help her here hi him his how i if in into is it its just know let like long many may me might more most much must my need no nor not now of off on one only onto or our out over own please possible see she should show so some such support supported tell than thank thanks that the their them then there these they this those to too under until up us use used uses using very want was way we were what when where whether which while who whom whose why will with within without work works would you your'.split(
    ' ',
  ),
)

const WORD = /[\p{L}\p{N}]+/gu
const ACCENT = /\p{M}+/gu
const ENGLISH = /^[a-z]+$/
/** Single letters, such as the rest of "e-mail" and "don’t", and texts that are too long for a word. */
const NO_WORD = /^(?:[a-z]|.{41,})$/su

/** The terms of a text in order, with repetitions. "Hosting", "hosted" and "hosts" are one term. */
export function termsOf(text: string): readonly string[] {
  const words = streamSafe(text).normalize('NFKD').replaceAll(ACCENT, '').toLowerCase().match(WORD) ?? []
  return words
    .filter((word) => !NO_WORD.test(word) && !COMMON.has(word))
    .map((word) => (ENGLISH.test(word) ? stemmer(word) : word))
}
