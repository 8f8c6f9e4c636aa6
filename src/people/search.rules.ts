/** How people are found by parts of their name and address. Pure. */
import { withoutAccents } from '../platform/text/normal-form.rules.ts'
import { wantedOf, wordsOf } from '../platform/text/words.rules.ts'
import { addressForms } from '../platform/validation/user-address.ts'

/** Words of a search. Further ones are left out. */
const MAX_WORDS = 16

export interface Named {
  readonly firstName: string | null
  readonly lastName: string | null
  readonly email: string | null
}

/** The address as people read it: its domain in Unicode. */
function readable(address: string): string {
  const [normal = address, unicode = normal] = addressForms(address)
  return unicode
}

/** The words of a person in normal form and without accents, each once. A domain counts in ASCII and in Unicode. */
export function personWords({ firstName, lastName, email }: Named): string {
  const texts = [firstName, lastName, email, email === null ? null : readable(email)]
  const words = texts.flatMap((text) => wordsOf(text ?? ''))
  return [...new Set(words.map((word) => withoutAccents(word.text)))].join(' ')
}

/** What each of the words of a person may contain: in the words of `personWords`, `sample` behind a space. */
export interface PersonSearch {
  /** Parts of words; a single character behind a space, because it begins a word. */
  readonly samples: readonly string[]
  /** As the SQL function `person_grams` makes them, without the mark of the organization. */
  readonly grams: readonly string[]
}

/** @returns null if the text has no word; then nobody is found */
export function personSearchOf(text: string): PersonSearch | null {
  const spelled = wantedOf(readable(text), null).whole[0]?.text ?? ''
  const words = [...new Set(spelled.split(' ').map(withoutAccents))]
    .filter((word) => word !== '')
    .slice(0, MAX_WORDS)
  if (words.length === 0) return null
  const samples = words.map((word) => ([...word].length === 1 ? ` ${word}` : word))
  return { samples, grams: [...new Set(samples.flatMap(gramsOf))] }
}

/** Three characters each, or the two of a sample that has no more. */
function gramsOf(sample: string): readonly string[] {
  const characters = [...sample]
  if (characters.length < 3) return [sample]
  return characters.slice(2).map((_, n) => characters.slice(n, n + 3).join(''))
}
