/**
 * Cuts a text into pieces in normal form: words, and runs of characters of scripts that have no spaces between words. Pure, linear.
 *
 * Characters are normalised in clusters, so that each piece knows where it stands in the text.
 */

import { atOnce } from '../concurrency/steps.ts'
import { composed, MARKS } from './normal-form.rules.ts'

/** Longer words are cut. In an index, a word must stay below 2 KB. */
const MAX_WORD = 400
/** UTF-16 code units of a part. */
const STEP = 500
const NO_SPACES = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー`
/** What is normalised together. Runs of Korean letters are composed to syllables. */
const CLUSTER = new RegExp(
  String.raw`[A-Za-z0-9]{1,${MAX_WORD}}${MARKS}|\p{Script=Hangul}{1,${MAX_WORD}}${MARKS}|.${MARKS}`,
  'ysu',
)
const ASCII_END = 0x7f
/** Such as ™ and ², which become letters and digits, and yet end a word. */
const SYMBOL = /^[\p{S}\p{No}]/u
const LETTER_OF_RUN = new RegExp(`[${NO_SPACES}]`, 'u')
const LETTER = /[\p{L}\p{N}]/u
const MARK = /\p{M}/u
const SPACE = /[\s\p{Z}]/u
const JOINER = /['’‘ʼ`.\-‐‒–_·]/

/** How a piece is separated from the one before. */
type Gap = 'none' | 'joiner' | 'punctuation' | 'space'

/** A character of a run, or a whole word. Places are in UTF-16 code units of the text. */
export interface Unit {
  text: string
  readonly start: number
  end: number
}

/** A word, or a run of characters of a script without spaces. */
export interface Piece {
  readonly isRun: boolean
  readonly gap: Gap
  /** One for a word. */
  readonly units: Unit[]
}

export const piecesOf = (text: string): readonly Piece[] => atOnce(piecesInSteps(text))

/**
 * The same in parts of about a tenth of a millisecond, for threads that answer requests.
 * @param most the text is not read any further when there are so many units: one character may be many words (`ﷺ`)
 */
export function* piecesInSteps(
  text: string,
  most = Number.POSITIVE_INFINITY,
): Generator<void, readonly Piece[]> {
  const cutter = cutterOf(text)
  for (let end = 0; end < text.length && cutter.units() < most; yield) end = cutter.cut(end, end + STEP)
  return cutter.pieces
}

/** Cuts a text part by part. */
function cutterOf(text: string) {
  const pieces: Piece[] = []
  const known: Known = new Map()
  let gap: Gap = 'space'
  let units = 0
  /** Null: a boundary is before the next character. */
  let current: Piece | null = null
  const separate = (found: Gap) => {
    current = null
    if (gap !== 'space') gap = found === 'joiner' && gap !== 'none' ? 'punctuation' : found
  }
  const add = (isRun: boolean, letters: string, start: number, end: number) => {
    const unit = current?.isRun === isRun ? current.units.at(-1) : undefined
    if (unit !== undefined && !isRun && unit.text.length + letters.length <= MAX_WORD) {
      unit.text += letters
      unit.end = end
    } else {
      units++
      if (current?.isRun && isRun) current.units.push({ text: letters, start, end })
      else {
        current = { isRun, gap, units: [{ text: letters, start, end }] }
        pieces.push(current)
      }
    }
    gap = 'none'
  }
  /** Cuts what lies between these places, at least, and returns where it ended. */
  const cut = (from: number, to: number): number => {
    let end = from
    for (let start = from; start < text.length && start < to; start = end) {
      if (text.charCodeAt(start) <= ASCII_END && kindOf(text.charCodeAt(start)) === 0) {
        end = start + 1
        separate(gapOf(text.charAt(start)))
        continue
      }
      end = start + plainLength(text, start)
      if (end > start) {
        const isRun = kindOf(text.charCodeAt(start)) === 2
        for (let at = start; isRun && at < end; at++) add(true, text.charAt(at), at, at + 1)
        if (!isRun) add(false, text.slice(start, end).toLowerCase(), start, end)
        continue
      }
      CLUSTER.lastIndex = start
      const cluster = CLUSTER.exec(text)?.[0] ?? text.charAt(start)
      end = start + cluster.length
      for (const part of partsOf(cluster, known)) {
        if (typeof part === 'string') separate(part)
        else if (part.isMark) addMark(current, part.text, end)
        else add(part.isRun, part.text, start, end)
      }
    }
    return end
  }
  return { pieces, units: () => units, cut }
}

const gapOf = (character: string): Gap =>
  SPACE.test(character) ? 'space' : JOINER.test(character) ? 'joiner' : 'punctuation'

/**
 * How many UTF-16 code units from there are in normal form but for their case, and of one kind. The last one before anything else is not
 * counted, because a mark may follow. Most texts have little else.
 */
function plainLength(text: string, start: number): number {
  const kind = kindOf(text.charCodeAt(start))
  if (kind === 0) return 0
  const most = Math.min(text.length, start + MAX_WORD)
  let end = start + 1
  while (end < most && kindOf(text.charCodeAt(end)) === kind) end++
  return end === text.length || text.charCodeAt(end) <= ASCII_END ? end - start : end - start - 1
}

/**
 * 1: a letter or digit of ASCII, a common letter of Latin, Cyrillic, Arabic or Korean; 2: Chinese or Japanese; 0: anything else. The
 * case of none of them depends on the letters beside it, and none is composed with the one before.
 */
function kindOf(code: number): 0 | 1 | 2 {
  if (code <= ASCII_END)
    return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) ? 1 : 0
  if (code < 0x3000) {
    const isLetter =
      (code >= 0xc0 && code <= 0xff && code !== 0xd7 && code !== 0xf7) ||
      (code >= 0x400 && code <= 0x45f) ||
      (code >= 0x621 && code <= 0x63a) ||
      (code >= 0x641 && code <= 0x64a)
    return isLetter ? 1 : 0
  }
  if (code >= 0xac00 && code <= 0xd7a3) return 1
  const isCommon =
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0x3041 && code <= 0x3096) ||
    (code >= 0x30a1 && code <= 0x30fa)
  return isCommon ? 2 : 0
}

interface Letter {
  readonly text: string
  /** Belongs to the letter before. */
  readonly isMark: boolean
  /** Of a script without spaces. */
  readonly isRun: boolean
}

/** Most texts have few different clusters. */
const MAX_KNOWN = 2_000
type Known = Map<string, readonly (Letter | Gap)[]>

/** The letters of a cluster in normal form, and the boundaries around them. `known`: clusters of the text that were read. */
function partsOf(cluster: string, known: Known): readonly (Letter | Gap)[] {
  const before = known.get(cluster)
  if (before !== undefined) return before
  const parts = readCluster(cluster)
  if (known.size < MAX_KNOWN && cluster.length <= 8) known.set(cluster, parts)
  return parts
}

function readCluster(cluster: string): readonly (Letter | Gap)[] {
  const normal = normalised(cluster)
  const parts = [...normal].map((text): Letter | Gap => {
    const isMark = MARK.test(text)
    if (!isMark && !LETTER.test(text)) return gapOf(text)
    return { text, isMark, isRun: LETTER_OF_RUN.test(text) }
  })
  const isSymbol =
    SYMBOL.test(cluster) && parts.some((part) => typeof part !== 'string' && !part.isRun && !part.isMark)
  return isSymbol ? ['joiner', ...parts, 'joiner'] : parts
}

/** A mark without a letter is left out. */
function addMark(piece: Piece | null, mark: string, end: number): void {
  const unit = piece?.units.at(-1)
  if (unit === undefined || unit.text.length >= MAX_WORD) return
  unit.text += mark
  unit.end = end
}

/** Lower case after NFKC, without what is not seen. A final sigma is a sigma. */
const normalised = (cluster: string): string =>
  composed(cluster).toLowerCase().toWellFormed().replaceAll('ς', 'σ')
