/** The labelled set for themes (data/insight/themes.tsv), and how well a grouping agrees with it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PATH = join(import.meta.dir, '../../data/insight/themes.tsv')

export interface Labelled {
  readonly topic: string
  readonly text: string
}

/** `size` items. Each sentence of the file is used in several of its forms, as equally often as possible. */
export function readThemeSet(size: number): readonly Labelled[] {
  const sentences = readFileSync(PATH, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [topic = '', pattern = ''] = line.split('\t')
      return { topic, forms: formsOf(pattern) }
    })
  const items: Labelled[] = []
  for (let round = 0; items.length < size; round++) {
    let found = false
    // Topics have different numbers of items in the last round, which takes every third sentence first.
    for (const offset of [0, 1, 2])
      for (const [place, { topic, forms }] of sentences.entries()) {
        const text = forms[round]
        if (place % 3 !== offset || text === undefined || items.length === size) continue
        items.push({ topic, text })
        found = true
      }
    if (!found) throw new Error(`the set has ${items.length} items only`)
  }
  return items
}

/** Every form of a sentence with alternatives in braces, the most different ones first. */
function formsOf(pattern: string): readonly string[] {
  const slots = [...pattern.matchAll(/\{([^}]*)\}/g)].map(([, words = '']) => words.split('|'))
  const combinations = slots.reduce<readonly (readonly string[])[]>(
    (all, words) => all.flatMap((one) => words.map((word) => [...one, word])),
    [[]],
  )
  const size = Math.max(1, ...slots.map((words) => words.length))
  // First each alternative with the one at the same place of the other slots.
  const diagonal = Array.from({ length: size }, (_, n) => slots.map((words) => words[n % words.length]!))
  const forms = [...diagonal, ...combinations].map((chosen) => {
    let place = 0
    return pattern.replaceAll(/\{[^}]*\}/g, () => chosen[place++] ?? '')
  })
  return [...new Set(forms)]
}

/** The same order for the same seed. */
export function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const all = [...items]
  let state = seed
  for (let last = all.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = state % (last + 1)
    ;[all[last], all[other]] = [all[other]!, all[last]!]
  }
  return all
}

/** The share of items in a group whose most frequent topic is theirs. Items without a group (null) are left out. */
export function purity(groups: readonly (string | null)[], topics: readonly string[]): number {
  const grouped = groups.flatMap((group, n) => (group === null ? [] : [{ group, topic: topics[n]! }]))
  const right = [...Map.groupBy(grouped, ({ group }) => group).values()].map((members) =>
    Math.max(...[...Map.groupBy(members, ({ topic }) => topic).values()].map(({ length }) => length)),
  )
  return right.reduce((sum, one) => sum + one, 0) / grouped.length
}

/** The adjusted Rand index: 1 for equal groupings, 0 for chance. An item without a group is a group of its own. */
export function adjustedRand(a: readonly (string | null)[], b: readonly (string | null)[]): number {
  const nameOf = (groups: readonly (string | null)[], n: number) => groups[n] ?? `alone ${n}`
  const pairs = (counts: Iterable<number>) => [...counts].reduce((sum, n) => sum + (n * (n - 1)) / 2, 0)
  const countsOf = (name: (n: number) => string) => {
    const counts = new Map<string, number>()
    for (let n = 0; n < a.length; n++) counts.set(name(n), (counts.get(name(n)) ?? 0) + 1)
    return pairs(counts.values())
  }
  const both = countsOf((n) => `${nameOf(a, n)} | ${nameOf(b, n)}`)
  const [inA, inB] = [countsOf((n) => nameOf(a, n)), countsOf((n) => nameOf(b, n))]
  const expected = (inA * inB) / pairs([a.length])
  return (both - expected) / ((inA + inB) / 2 - expected)
}
