/** Finds a quotation of a model server in the text that it quotes. Pure, linear. */

/** Longest quotation, in UTF-16 code units. */
export const MAX_QUOTE = 400
const MIN_QUOTE = 2

/** Where a quotation stands in a text, in UTF-16 code units. */
export interface Place {
  readonly from: number
  readonly to: number
}

/**
 * Compares word for word. White space, case, and the forms of quotation marks, apostrophes and compatible characters (NFKC) may differ.
 * @returns null if the text does not contain the quotation
 */
export function findQuotation(text: string, quote: string): Place | null {
  const wanted = plain(quote.slice(0, MAX_QUOTE + 1))
    .units.join('')
    .trim()
  if (wanted.length < MIN_QUOTE || quote.length > MAX_QUOTE) return null
  const { units, places } = plain(text)
  const at = units.join('').indexOf(wanted)
  if (at < 0) return null
  const from = places[at]
  const last = places[at + wanted.length - 1]
  if (from === undefined || last === undefined) return null
  return { from, to: last + lengthAt(text, last) }
}

/** The comparable form of a text: its code units, and for each one the place in the text that it comes from. */
function plain(text: string): { readonly units: readonly string[]; readonly places: readonly number[] } {
  const units: string[] = []
  const places: number[] = []
  let place = 0
  for (const character of text) {
    for (const unit of formOf(character).split('')) {
      if (unit === ' ' && units.at(-1) === ' ') continue
      units.push(unit)
      places.push(place)
    }
    place += character.length
  }
  return { units, places }
}

function formOf(character: string): string {
  if (/\s/u.test(character)) return ' '
  if (/[\u2018\u2019]/.test(character)) return "'"
  if (/[\u201c\u201d]/.test(character)) return '"'
  return character.normalize('NFKC').toLowerCase()
}

/** Length of the character at the place, with the combining marks behind it. */
function lengthAt(text: string, place: number): number {
  const length = text.codePointAt(place)! > 0xffff ? 2 : 1
  return length + (/^\p{M}+/u.exec(text.slice(place + length, place + length + 8))?.[0].length ?? 0)
}
