/**
 * The words of a text in one normal form, for what is indexed and for what is looked for. Pure, linear.
 *
 * - Compatible characters are one (NFKC): full width, half-width kana, ligatures, composed and decomposed letters. Case does not count.
 * - Every punctuation mark ends a word. Words that only a hyphen, an apostrophe or the like separates are also one word: `e-mail`, `email`.
 * - A word with accents also stands without them: `réglée`, `reglee`.
 * - Scripts that have no spaces between words are cut into pairs of characters, which overlap: 請求書 → 請求 求書 書.
 *
 * PostgreSQL's parser finds exactly these words in `textOf`, whatever the locale of the database is.
 */
import { atOnce, steppedThrough } from '../concurrency/steps.ts'
import { withoutAccents } from './normal-form.rules.ts'
import { type Piece, piecesInSteps, piecesOf, type Unit } from './pieces.rules.ts'

/** Words that are joined are at most so many, with so many UTF-16 code units. */
const MAX_JOINED = 4
const MAX_JOINED_LENGTH = 60
/** Words of a step. */
const STEP = 500

/** A word as it is indexed, and where it stands in the text, in UTF-16 code units. */
export interface Word {
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * The words of a text in order; again without accents, if one has any; and then the joined ones.
 * A run of characters gives a pair for each character, and the last one alone, so each begins a word.
 */
export const wordsOf = (text: string): readonly Word[] => atOnce(wordsInSteps(text))

/**
 * The same in small steps, for threads that answer requests.
 * @param most of a text with more words than so many, only these are read
 */
export function* wordsInSteps(text: string, most?: number): Generator<void, readonly Word[]> {
  const pieces = yield* piecesInSteps(text, most)
  const exact: Word[] = []
  yield* steppedThrough(pieces, STEP, (piece) => {
    for (const word of wordsOfPiece(piece)) exact.push(word)
  })
  const folded: Word[] = []
  let hasAccents = false
  yield* steppedThrough(exact, STEP, ({ text, start, end }) => {
    const plain = withoutAccents(text)
    hasAccents ||= plain !== text
    folded.push({ text: plain, start, end })
  })
  const joined: Word[] = []
  yield* steppedThrough(groupsOf(pieces), STEP, (group) => {
    for (const word of joinedOf(group)) joined.push(word)
  })
  return [...exact, ...(hasAccents ? folded : []), ...joined]
}

/** The text that PostgreSQL parses. */
export const textOf = (words: readonly Word[]): string => words.map((word) => word.text).join(' ')

/** A search with the quotation marks, minus signs and spaces of ASCII in place of full-width and other ones. */
export const signsOf = (query: string): string =>
  query
    .replace(/\p{Z}/gu, ' ')
    .replace(/＂/g, '"')
    .replace(/[－﹣]/g, '-')

/** How a part of a search may be spelled. */
export interface Spelling {
  /** Words that stand side by side. */
  readonly text: string
  /** The last word, if longer words match, too; else empty. */
  readonly last: string
}

export interface Wanted {
  /** The spellings of the whole; none: it has no word. */
  readonly whole: readonly Spelling[]
  /** The spellings of each of its words alone, and of those that are joined. */
  readonly parts: readonly (readonly Spelling[])[]
  /** The word, if the whole is one word of letters and digits between spaces. */
  readonly word: string | null
}

/**
 * What to look for in the index for a word, or for words that are to stand side by side.
 * @param mayGoOn the shortest last word that longer words may match, too; null: none may
 */
export function wantedOf(text: string, mayGoOn: number | null): Wanted {
  const pieces = piecesOf(text)
  const joined = groupsOf(pieces)
    .map((group) => joinedOf(group).map((word) => alone(word.text)))
    .filter((words) => words.length > 0)
  const isJoined =
    pieces.length > 1 && pieces.every(({ gap, isRun }, n) => !isRun && (n === 0 || gap === 'joiner'))
  const parts = pieces.map((piece, n) => spellings([piece], n === pieces.length - 1 ? mayGoOn : null))
  return {
    whole: [...spellings(pieces, mayGoOn), ...(isJoined ? joined.flat() : [])],
    parts: [...parts, ...joined],
    word: pieces.length === 1 && pieces[0]?.isRun === false ? (pieces[0].units[0]?.text ?? null) : null,
  }
}

const alone = (text: string): Spelling => ({ text, last: '' })

function spellings(pieces: readonly Piece[], mayGoOn: number | null): readonly Spelling[] {
  const last = pieces.at(-1)
  if (last === undefined) return []
  const words = pieces.flatMap(wordsOfPiece).map((word) => word.text)
  // The run may go on in the text.
  if (last.isRun && last.units.length > 1) words.pop()
  const isOpen = last.isRun
    ? last.units.length === 1
    : mayGoOn !== null && [...(words.at(-1) ?? '')].length >= mayGoOn
  const spelled = (all: readonly string[]) => ({
    text: all.join(' '),
    last: isOpen ? (all.at(-1) ?? '') : '',
  })
  const exact = spelled(words)
  const folded = spelled(words.map(withoutAccents))
  return folded.text === exact.text ? [exact] : [exact, folded]
}

function wordsOfPiece({ isRun, units }: Piece): readonly Word[] {
  if (!isRun) return units
  return units.map((unit, n) => {
    const next = units[n + 1]
    return next === undefined ? unit : { text: unit.text + next.text, start: unit.start, end: next.end }
  })
}

/** Words between which only a joiner stands. */
function groupsOf(pieces: readonly Piece[]): readonly (readonly Unit[])[] {
  const groups: Unit[][] = []
  for (const { isRun, gap, units } of pieces) {
    if (isRun) groups.push([])
    else if (gap === 'joiner' && groups.at(-1)?.length !== 0) groups.at(-1)?.push(...units)
    else groups.push([...units])
  }
  return groups
}

/** The words of a group in one, with and without accents. */
function joinedOf(units: readonly Unit[]): readonly Word[] {
  const [first] = units
  const last = units.at(-1)
  if (first === undefined || last === undefined || units.length < 2 || units.length > MAX_JOINED) return []
  const text = units.map((unit) => unit.text).join('')
  if (text.length > MAX_JOINED_LENGTH) return []
  const place = { start: first.start, end: last.end }
  return [...new Set([text, withoutAccents(text)])].map((one) => ({ text: one, ...place }))
}

/** The text of a name that is indexed; null where there is none. */
export const nameWords = (name: string | null | undefined): string | null =>
  name == null ? null : textOf(wordsOf(name))
