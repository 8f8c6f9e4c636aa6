/**
 * The normal form of a text, for what is indexed, looked for or redacted. Pure, linear.
 *
 * Compatible characters are one (NFKC): full width, half-width kana, ligatures, composed and decomposed letters. What is not seen is left out.
 */

/** Characters that belong to the one before: marks, those of half-width kana, and what is not seen. */
export const MARKS = String.raw`[\p{M}\p{Cf}\p{DI}ﾞﾟ]{0,20}`
/** Format characters and those that are not shown (Default_Ignorable_Code_Point), such as joiners, fillers and variation selectors. */
const UNSEEN = /[\p{Cf}\p{DI}]/gu

const MAX_RUN = 30
const LONG_RUN = new RegExp(String.raw`\p{M}{${MAX_RUN}}(?=\p{M})`, 'gu')

/**
 * The Stream-Safe Text Format (Unicode Standard Annex 15, D4): a joiner ends each run of 30 marks, because the time to put a run into order
 * grows with the square of its length. No word of any language has so many.
 */
export const streamSafe = (text: string): string =>
  text.length <= MAX_RUN ? text : text.replace(LONG_RUN, '$&\u034f')

/** NFKC without what is not seen. Case and accents stay. */
export const composed = (text: string): string => streamSafe(text).normalize('NFKC').replace(UNSEEN, '')

/** Marks in other scripts are no accents. */
const ACCENTS =
  /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}])\p{M}+/gu
const ASCII = /^\p{ASCII}*$/u
/** Letters that have no decomposition. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ı: 'i',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ŋ: 'n',
  ـ: '',
}
const PLAIN = new RegExp(`[${Object.keys(PLAIN_LETTERS).join('')}]`, 'gu')
const PLAIN_CAPITALS = /[ẞÆŒØĐÐŁÞĦŦŊ]/gu

/** `réglée` → `reglee`, `Øre` → `Ore`. @param text in normal form */
export function withoutAccents(text: string): string {
  if (ASCII.test(text)) return text
  const plain = (letter: string) => PLAIN_LETTERS[letter] ?? letter
  return text
    .normalize('NFD')
    .replace(ACCENTS, '$1')
    .replace(PLAIN, plain)
    .replace(PLAIN_CAPITALS, (letter) => plain(letter.toLowerCase()).toUpperCase())
    .normalize('NFC')
}

/** What is normalised together. A syllable of Korean may be written as its letters. */
const CLUSTER = new RegExp(
  String.raw`[\uac00-\ud7a3\p{Script=Hangul}][\u1160-\u11ff\u3130-\u318f\ud7b0-\ud7fb\uffa0-\uffdf]{0,40}${MARKS}|.${MARKS}`,
  'ysu',
)

/** Whether the character is in normal form: of ASCII, or common in Chinese, Japanese or Korean. Most texts have little else. */
const isPlain = (code: number): boolean =>
  code <= 0x7f ||
  (code >= 0x4e00 && code <= 0x9fff) ||
  (code >= 0xac00 && code <= 0xd7a3) ||
  (code >= 0x3041 && code <= 0x3096) ||
  (code >= 0x30a1 && code <= 0x30fa)

/** Units of work (`spend`) of making the form of a text: for each of its UTF-16 code units, where it is another text, and where it is not. */
const [OTHER_UNITS, SAME_UNITS] = [90, 10]

/** A text in normal form that knows where its characters stand in the text that it was made from. */
export interface NormalForm {
  readonly text: string
  /** The place that the characters from `start` to `end` of the normal form have in the given text. In UTF-16 code units. */
  placeOf(start: number, end: number): { readonly start: number; readonly end: number }
}

/**
 * @param fold changes each cluster further, such as `withoutAccents`
 * @param spend counts the work before it is done
 */
export function normalFormOf(
  given: string,
  fold: (cluster: string) => string = (text) => text,
  spend: (units: number) => void = () => {},
): NormalForm {
  const same: NormalForm = { text: given, placeOf: (start, end) => ({ start, end }) }
  if (ASCII.test(given)) return same
  spend(given.length * SAME_UNITS)
  if (fold(composed(given)) === given) return same
  spend(given.length * OTHER_UNITS)
  const starts: number[] = []
  const ends: number[] = []
  let text = ''
  for (let start = 0, end = 0; start < given.length; start = end) {
    // What follows may be a mark.
    if (
      isPlain(given.charCodeAt(start)) &&
      (start + 1 === given.length || isPlain(given.charCodeAt(start + 1)))
    ) {
      end = start + 1
      starts.push(start)
      ends.push(end)
      text += given.charAt(start)
      continue
    }
    CLUSTER.lastIndex = start
    end = start + (CLUSTER.exec(given)?.[0].length ?? 1)
    const normal = fold(composed(given.slice(start, end)))
    for (let unit = 0; unit < normal.length; unit++) {
      starts.push(start)
      ends.push(end)
    }
    text += normal
  }
  return {
    text,
    placeOf: (from, to) => ({ start: starts[from] ?? given.length, end: ends[to - 1] ?? given.length }),
  }
}
