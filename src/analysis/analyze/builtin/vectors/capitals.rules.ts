/** Texts in capitals: the pieces of their words have other vectors, so "THE APP CRASHES" is far from "The app crashes". Pure. */

/** Letters of a text that is long enough to be judged: a few capitals are an abbreviation. */
const MIN_LETTERS = 10
/** Of the letters that are small or capital, so many are capitals. */
const MOSTLY = 2 / 3

const countOf = (text: string, letters: RegExp) => text.match(letters)?.length ?? 0

/** Mostly in capitals. */
export function isInCapitals(text: string): boolean {
  const capitals = countOf(text, /\p{Lu}/gu)
  const letters = capitals + countOf(text, /\p{Ll}/gu)
  return letters >= MIN_LETTERS && capitals >= MOSTLY * letters
}

/** A text that is mostly in capitals, in small letters; any other text as it is. */
export const withoutCapitals = (text: string): string => (isInCapitals(text) ? text.toLowerCase() : text)
