/** Counts what was found by theme, area, outcome and analyser. Pure. */
import type { Outcome } from '../../analysis/analyze/insight.ts'
import type { SubjectKey, SubjectRow } from '../../analysis/findings/service.ts'
import type { ThemeOfSubject } from '../themes/subjects.ts'

interface Counted {
  readonly count: number
  /** Numbers of the passages of the answer, from 1. */
  readonly passages: readonly number[]
}

export interface Groups {
  readonly subjects: number
  readonly themes: readonly ({ readonly id: string; readonly title: string } & Counted)[]
  readonly productAreas: readonly ({ readonly productArea: string } & Counted)[]
  readonly outcomes: readonly ({ readonly outcome: Outcome } & Counted)[]
  readonly analyzers: readonly ({ readonly name: string; readonly version: string } & Counted)[]
}

/** Most groups of each sort. */
const MAX_GROUPS = 20

/**
 * @param subjects in the order of their passages, the best first
 * @param shown so many of them are passages of the answer
 */
export function groupsOf(
  subjects: readonly SubjectKey[],
  shown: number,
  rows: readonly SubjectRow[],
  themes: readonly ThemeOfSubject[],
): Groups {
  const places = new Map(subjects.map((subject, index) => [keyOf(subject), index + 1]))
  const grouped = <T extends SubjectKey, G extends object>(
    all: readonly T[],
    groupOf: (one: T) => G | null,
  ): readonly (G & Counted)[] => {
    const groups = new Map<string, { readonly group: G; readonly places: number[] }>()
    for (const one of all) {
      const [group, place] = [groupOf(one), places.get(keyOf(one))]
      if (group === null || place === undefined) continue
      const name = JSON.stringify(group)
      const known = groups.get(name)
      if (known === undefined) groups.set(name, { group, places: [place] })
      else known.places.push(place)
    }
    return [...groups.entries()]
      .toSorted(([a, { places: x }], [b, { places: y }]) => y.length - x.length || (a < b ? -1 : 1))
      .slice(0, MAX_GROUPS)
      .map(([, { group, places: found }]) => ({
        ...group,
        count: found.length,
        passages: found.filter((place) => place <= shown).toSorted((a, b) => a - b),
      }))
  }
  return {
    subjects: subjects.length,
    themes: grouped(themes, ({ themeId, title }) => ({ id: themeId, title })),
    productAreas: grouped(rows, ({ productArea }) => (productArea === null ? null : { productArea })),
    outcomes: grouped(rows, ({ outcome }) => (outcome === null ? null : { outcome })),
    analyzers: grouped(rows, ({ analyzerName: name, analyzerVersion: version }) =>
      name === '' ? null : { name, version },
    ),
  }
}

const keyOf = ({ channel, id }: SubjectKey) => `${channel} ${id}`
