/** Which items a subject has, by its findings. Pure. */
import type { Channel } from '../../kernel/channel.ts'
import { stemsOf } from './words.rules.ts'

/** Items of one conversation, feedback record or recording. */
const MAX_ITEMS = 5
/** Of a quotation, what is compared. */
const MAX_TEXT = 300

/** A finding as it is stored. */
export interface Finding {
  readonly signalId: string
  readonly channel: Channel
  readonly subjectId: string
  readonly kind: string
  readonly comment: string | null
  readonly confidence: number | null
  readonly rating: string | null
  readonly language: string | null
  readonly occurredAt: Date
}

export interface WantedItem {
  readonly channel: Channel
  readonly subjectId: string
  readonly passage: string
  readonly signalId: string
  readonly rating: string | null
  readonly occurredAt: Date
  readonly language: string | null
  readonly text: string
  readonly terms: readonly string[]
}

export interface PresentItem {
  readonly id: number
  readonly channel: Channel
  readonly subjectId: string
  readonly passage: string
  readonly signalId: string
  readonly rating: string | null
  readonly occurredAt: Date
  /** An earlier version made its vector. */
  readonly isOutdated: boolean
}

/** Says that the matter is settled, and nothing about it. */
const SETTLED = 'resolved_confirmation'
/** What a polite customer says anyway has fewer words of its own. */
const PRAISE_WORDS = 2

export const passageOf = (text: string): string => new Bun.CryptoHasher('md5').update(text).digest('hex')

const normalised = (comment: string) => comment.replace(/\s+/g, ' ').trim().slice(0, MAX_TEXT)

/** One item for each different passage of a subject: the surest findings first, at most five. */
export function wantedItems(findings: readonly Finding[]): readonly WantedItem[] {
  const bySubject = Map.groupBy(findings, ({ channel, subjectId }) => `${channel} ${subjectId}`)
  return [...bySubject.values()].flatMap((all) => {
    const items = new Map<string, WantedItem>()
    for (const finding of all.toSorted(bySurety)) {
      const item = itemOf(finding)
      if (item !== null && !items.has(item.passage)) items.set(item.passage, item)
    }
    return [...items.values()].slice(0, MAX_ITEMS)
  })
}

function bySurety(a: Finding, b: Finding): number {
  const difference = (b.confidence ?? 0) - (a.confidence ?? 0)
  if (difference !== 0) return difference
  return a.signalId < b.signalId ? -1 : 1
}

function itemOf({ kind, comment, confidence: _, ...finding }: Finding): WantedItem | null {
  if (kind === SETTLED || comment === null) return null
  const text = normalised(comment)
  const terms = stemsOf(text)
  if (terms.length < (kind === 'praise' ? PRAISE_WORDS : 1)) return null
  return { ...finding, text, passage: passageOf(text), terms }
}

export interface Kept {
  readonly present: PresentItem
  readonly item: WantedItem
}

export interface Difference {
  readonly remove: readonly PresentItem[]
  /** Items that stay, of whose passage another finding, rating or time is known now, or that need another vector. */
  readonly keep: readonly Kept[]
  readonly add: readonly WantedItem[]
}

const keyOf = ({ channel, subjectId, passage }: Pick<WantedItem, 'channel' | 'subjectId' | 'passage'>) =>
  `${channel} ${subjectId} ${passage}`

/** What must change so that the subjects have the wanted items. A passage that stays keeps its item and so its theme. */
export function differenceOf(present: readonly PresentItem[], wanted: readonly WantedItem[]): Difference {
  const known = new Map(present.map((one) => [keyOf(one), one]))
  const stay = new Set(wanted.map(keyOf))
  return {
    remove: present.filter((one) => !stay.has(keyOf(one))),
    keep: wanted.flatMap((item) => {
      const one = known.get(keyOf(item))
      return one === undefined || isSame(one, item) ? [] : [{ present: one, item }]
    }),
    add: wanted.filter((item) => !known.has(keyOf(item))),
  }
}

const isSame = (one: PresentItem, item: WantedItem) =>
  !one.isOutdated &&
  one.signalId === item.signalId &&
  one.rating === item.rating &&
  one.occurredAt.getTime() === item.occurredAt.getTime()
