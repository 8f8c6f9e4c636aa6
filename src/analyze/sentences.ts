/**
 * Which sentences of a text say most of what it is about. Pure and deterministic.
 *
 * A word weighs more the more often it is said, and less the more of the sentences have it; words of a sentence that has been
 * chosen weigh little from then on, so the next one says something else. No word lists but one of English: other languages have their
 * grammar words in most sentences, which is what makes these weigh little.
 */

/** Grammar words of English, which is spoken in short sentences that often lack them. */
const COMMON = new Set(
  'a about all also am an and any are as at be been but by can could did do does doing for from get go going got had has have he her here him his how i if in into is it its just know like me more my no not now of oh okay on one or our out really right said say see she so some than that the their them then there these they thing things think this those to too uh um up us very was we well were what when where which who why will with would yeah yes you your'.split(
    ' ',
  ),
)

/** Words of a sentence that can stand in a summary: shorter ones say little, longer ones are often not one sentence. */
const MIN_WORDS = 4
const MAX_WORDS = 60

/** The most valuable ones, among which is chosen: the time that choosing takes is bounded. */
const MAX_CANDIDATES = 2_000
/** What a word weighs when it has been said in the summary, of what it weighed before. */
const SAID = 0.2

interface Candidate {
  /** Position among all sentences. */
  readonly index: number
  readonly text: string
  readonly length: number
  readonly words: ReadonlySet<string>
}

/**
 * The most telling sentences in their own order, as many as fit.
 * @param most their number
 * @param characters code points of all of them with one space between
 */
export function pickSentences(
  sentences: readonly string[],
  { most, characters }: { readonly most: number; readonly characters: number },
): readonly string[] {
  const all = sentences.map(toCandidate).filter(({ text }) => text !== '')
  const weights = weigh(all)
  const usual = all.filter(({ text }) => isUsual(text))
  const ranked = rank(withoutRepeats(usual.length > 0 ? usual : all), weights)
  const chosen = new Set<Candidate>()
  let left = characters
  while (chosen.size < most) {
    const best = bestOf(ranked, weights, chosen, left)
    if (best === null) break
    chosen.add(best)
    left -= best.length + 1
    for (const word of best.words) weights.set(word, (weights.get(word) ?? 0) * SAID)
  }
  return [...chosen].sort((a, b) => a.index - b.index).map(({ text }) => text)
}

/** Of sentences with the same text the first. */
function withoutRepeats(candidates: readonly Candidate[]): readonly Candidate[] {
  const first = new Map<string, Candidate>()
  for (const candidate of candidates) if (!first.has(candidate.text)) first.set(candidate.text, candidate)
  return [...first.values()]
}

interface Ranked {
  readonly candidate: Candidate
  /** What it is worth before anything was chosen: from then on it can only lose. */
  readonly highest: number
}

/** The most valuable first; of equals the one that comes first in the text. */
function rank(candidates: readonly Candidate[], weights: ReadonlyMap<string, number>): readonly Ranked[] {
  return candidates
    .map((candidate) => ({ candidate, highest: scoreOf(candidate, weights) }))
    .sort((a, b) => b.highest - a.highest || a.candidate.index - b.candidate.index)
    .slice(0, MAX_CANDIDATES)
}

/** Null where nothing is left that fits and is worth something. */
function bestOf(
  ranked: readonly Ranked[],
  weights: ReadonlyMap<string, number>,
  chosen: ReadonlySet<Candidate>,
  left: number,
): Candidate | null {
  let best: Candidate | null = null
  let highest = 0
  for (const { candidate, highest: bound } of ranked) {
    if (bound <= highest) break
    if (candidate.length > left || chosen.has(candidate)) continue
    const value = scoreOf(candidate, weights)
    if (value > highest) [best, highest] = [candidate, value]
  }
  return best
}

/** Long sentences have more of everything; the root keeps them from winning by length alone. */
function scoreOf({ words }: Candidate, weights: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const word of words) sum += weights.get(word) ?? 0
  return words.size === 0 ? 0 : sum / Math.sqrt(words.size)
}

function weigh(candidates: readonly Candidate[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { words } of candidates) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const weights = new Map<string, number>()
  for (const [word, count] of counts) {
    // What is said once may be chance.
    weights.set(word, (count - 0.5) * Math.log(1 + candidates.length / count))
  }
  return weights
}

function toCandidate(sentence: string, index: number): Candidate {
  const text = sentence.replace(/\s+/g, ' ').trim()
  const words = wordsOf(text).filter((word) => word.length > 1 && !COMMON.has(word))
  return { index, text, length: Array.from(text).length, words: new Set(words) }
}

function isUsual(text: string): boolean {
  const count = wordsOf(text).length
  return count >= MIN_WORDS && count <= MAX_WORDS
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
