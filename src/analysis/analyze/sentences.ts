/**
 * Picks the sentences that best represent a text. Pure and deterministic.
 *
 * A word weighs more the more often it occurs, and less the more sentences contain it. Words of a chosen sentence weigh
 * little afterwards, so that the next sentence adds something new. Only English has a list of grammar words. In other
 * languages grammar words are in most sentences and therefore weigh little.
 */

/** Grammar words of English. Spoken English has short sentences that often lack them, so their weights are unreliable. */
const COMMON = new Set(
  'a about all also am an and any are as at be been but by can could did do does doing for from get go going got had has have he her here him his how i if in into is it its just know like me more my no not now of oh okay on one or our out really right said say see she so some than that the their them then there these they thing things think this those to too uh um up us very was we well were what when where which who why will with would yeah yes you your'.split(
    ' ',
  ),
)

/** Number of words in a usable sentence. Shorter ones say little, longer ones are often not one sentence. */
const MIN_WORDS = 4
const MAX_WORDS = 60

/** Only the most valuable sentences are candidates, which bounds the time. */
const MAX_CANDIDATES = 2_000
/** The factor by which the weight of a word falls once the summary contains it. */
const SAID = 0.2

interface Candidate {
  /** Position among all sentences. */
  readonly index: number
  readonly text: string
  readonly length: number
  readonly words: ReadonlySet<string>
  /** True if it has a usable number of words. */
  readonly isUsual: boolean
}

/**
 * The most representative sentences that fit, in their own order.
 * @param most their maximum number
 * @param characters limit in code points, including a space between sentences
 */
export function pickSentences(
  sentences: readonly string[],
  { most, characters }: { readonly most: number; readonly characters: number },
): readonly string[] {
  const all = candidatesOf(sentences)
  const weights = weigh(all)
  const usual = all.filter(({ isUsual }) => isUsual)
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

/** Keeps the first of sentences with the same text. */
function withoutRepeats(candidates: readonly Candidate[]): readonly Candidate[] {
  const first = new Map<string, Candidate>()
  for (const candidate of candidates) if (!first.has(candidate.text)) first.set(candidate.text, candidate)
  return [...first.values()]
}

interface Ranked {
  readonly candidate: Candidate
  /** Value before the first choice. It can only fall afterwards. */
  readonly highest: number
}

/** The most valuable first. Equally valuable ones keep the order of the text. */
function rank(candidates: readonly Candidate[], weights: ReadonlyMap<string, number>): readonly Ranked[] {
  return candidates
    .map((candidate) => ({ candidate, highest: scoreOf(candidate, weights) }))
    .sort((a, b) => b.highest - a.highest || a.candidate.index - b.candidate.index)
    .slice(0, MAX_CANDIDATES)
}

/** Null if no remaining sentence fits and has a value. */
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

/** Long sentences contain more words. The square root keeps length alone from winning. */
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
    // A word that occurs once may be chance.
    weights.set(word, (count - 0.5) * Math.log(1 + candidates.length / count))
  }
  return weights
}

/** A sentence that is repeated is read once. */
function candidatesOf(sentences: readonly string[]): readonly Candidate[] {
  const known = new Map<string, Omit<Candidate, 'index'>>()
  return sentences.flatMap((sentence, index) => {
    const candidate = known.get(sentence) ?? read(sentence)
    known.set(sentence, candidate)
    return candidate.text === '' ? [] : [{ ...candidate, index }]
  })
}

function read(sentence: string): Omit<Candidate, 'index'> {
  const text = sentence.replace(/\s+/g, ' ').trim()
  const words: readonly string[] = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return {
    text,
    length: Array.from(text).length,
    words: new Set(words.filter((word) => word.length > 1 && !COMMON.has(word))),
    isUsual: words.length >= MIN_WORDS && words.length <= MAX_WORDS,
  }
}
