/** Titles: the words and word pairs that a theme's quotations have more often than others (c-TF-IDF). Pure. */
import type { Frequencies } from './nearness.rules.ts'
import { stemsOf, stemsOfTerm, titleTermsOf } from './words.rules.ts'

/** A word that fewer subjects use could tell who they are. */
export const MIN_SUBJECTS = 3
const MAX_TERMS = 3
/** A word that a smaller share of the subjects uses says nothing of the theme. */
const MIN_SHARE = 0.2
/** A pair says more than a word. */
const PAIR = 1.6
export const MAX_TITLE = 80
/** A word of fewer subjects of the theme can stand in its title if so many items of the organization have it. */
const FEWER_SUBJECTS = 2
export const KNOWN_ITEMS = 6
/** Without words that enough subjects share, and without a kind. */
export const NO_TITLE = 'Various'
/** Titles of themes without such words, by the kind of most findings. */
const KIND_TITLES: Readonly<Record<string, string>> = {
  bug_report: 'Problems',
  feature_request: 'Wishes',
  question: 'Questions',
  complaint: 'Complaints',
  praise: 'Praise',
  confusion: 'Confusion',
  human_requested: 'Wants a person',
  churn_risk: 'May leave',
  wrong_answer: 'Wrong answers',
  repeated_problem: 'Problems again',
  resolved_confirmation: 'Solved',
}

export interface Quotation {
  readonly text: string
  /** Channel and id of the subject. */
  readonly subject: string
  /** Kind of the finding. */
  readonly kind?: string
}

/** In how many subjects each term occurs. */
function subjectsOf(
  quotations: readonly Quotation[],
  termsOf: (text: string) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const some of Map.groupBy(quotations, ({ subject }) => subject).values())
    for (const term of new Set(some.flatMap(({ text }) => termsOf(text))))
      counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}

interface Term {
  /** The form that most subjects use. */
  readonly form: string
  readonly stems: readonly string[]
  /** How many subjects use one of its forms. */
  readonly subjects: number
}

/** Forms of a word are one term: "export", "exports" and "exporting". */
function termsOf(quotations: readonly Quotation[]): readonly Term[] {
  const forms = subjectsOf(quotations, titleTermsOf)
  const subjects = subjectsOf(quotations, (text) => titleTermsOf(text).map(keyOf))
  const isFirst = (a: string, b: string) => {
    const difference = (forms.get(a) ?? 0) - (forms.get(b) ?? 0) || b.length - a.length
    return difference > 0 || (difference === 0 && a < b)
  }
  return [...Map.groupBy(forms.keys(), keyOf)].map(([key, some]) => ({
    form: some.reduce((best, one) => (isFirst(one, best) ? one : best)),
    stems: key.split(' '),
    subjects: subjects.get(key) ?? 0,
  }))
}

const keyOf = (term: string) => stemsOfTerm(term).join(' ')

/**
 * At most three terms that do not share a word, the most telling first. A theme in which too few subjects share a word gets words that many
 * others in the organization use too, else the name of its kind.
 */
export function titleOf(quotations: readonly Quotation[], frequencies: Frequencies): string {
  const terms = termsOf(quotations)
  const isKnown = (stem: string) => frequencies.countOf(stem) >= KNOWN_ITEMS
  const all = new Set(quotations.map(({ subject }) => subject)).size
  const shared = chooseTerms(
    terms.filter(({ subjects }) => subjects >= Math.max(MIN_SUBJECTS, MIN_SHARE * all)),
    frequencies,
  )
  const chosen =
    shared.length > 0
      ? shared
      : chooseTerms(
          terms.filter(({ subjects, stems }) => subjects >= FEWER_SUBJECTS && stems.every(isKnown)),
          frequencies,
        )
  return chosen.length === 0 ? kindTitleOf(quotations) : chosen.join(' · ').slice(0, MAX_TITLE)
}

function chooseTerms(terms: readonly Term[], frequencies: Frequencies): readonly string[] {
  const ranked = terms
    .map((term) => ({ ...term, score: term.subjects * rarityOf(term.stems, frequencies) }))
    .toSorted((a, b) => b.score - a.score || (a.form < b.form ? -1 : 1))
  const chosen: string[] = []
  const used = new Set<string>()
  for (const { form, stems } of ranked) {
    if (stems.some((stem) => used.has(stem))) continue
    chosen.push(form)
    for (const stem of stems) used.add(stem)
    if (chosen.length === MAX_TERMS) break
  }
  return chosen
}

function kindTitleOf(quotations: readonly Quotation[]): string {
  const kinds = [...Map.groupBy(quotations, ({ kind }) => kind ?? '')]
  const [most] = kinds.toSorted(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
  return KIND_TITLES[most?.[0] ?? ''] ?? NO_TITLE
}

function rarityOf(stems: readonly string[], { items, countOf }: Frequencies): number {
  const rarities = stems.map((stem) => Math.log(1 + items / Math.max(1, countOf(stem))))
  return (rarities.reduce((sum, one) => sum + one, 0) / stems.length) * (stems.length > 1 ? PAIR : 1)
}

const MAX_WORDS = 8

/**
 * The title of a model server, or null if it is not one: a short line of words, of which at least half are words that several
 * subjects use. So the text of one customer cannot choose it.
 */
export function checkedTitle(given: string, quotations: readonly Quotation[]): string | null {
  const title = given.trim().replace(/\s+/g, ' ')
  if (title.length < 3 || title.length > MAX_TITLE || title.split(' ').length > MAX_WORDS) return null
  if (!/^\p{L}[\p{L}\p{N}\p{M} ,&/'’()-]*$/u.test(title) || /\p{N}{3}/u.test(title)) return null
  const stems = stemsOf(title)
  const subjects = subjectsOf(quotations, stemsOf)
  const shared = stems.filter((stem) => (subjects.get(stem) ?? 0) >= MIN_SUBJECTS)
  return shared.length > 0 && shared.length * 2 >= stems.length ? title : null
}

/** What could name a person is replaced, because the quotation goes to a model server for a title only. */
export const redacted = (text: string): string =>
  text
    .replace(/\S{1,64}@\S{1,255}/g, '…')
    .replace(/https?:\/\/\S{1,500}/g, '…')
    .replace(/\+?\d[\d\s().-]{2,}\d/g, '…')
    .slice(0, 300)

/** How often as many members a theme has when it gets another title. */
const GROWN = 1.25
/** The same where a model server is asked for it, which costs. */
const GROWN_COSTLY = 2

/** Whether a theme has gained or lost so many members since it got its title that it gets another one. */
export function needsTitle(count: number, titledCount: number, isCostly: boolean): boolean {
  const grown = isCostly ? GROWN_COSTLY : GROWN
  return count >= grown * Math.max(1, titledCount) || count * 2 <= titledCount
}
