/** Cuts a subject into parts for requests of bounded size and number. Pure. */
import type { Subject } from './insight.ts'

/** Most messages of a part, and UTF-16 code units of one message and of a part. */
const MAX_MESSAGES = 40
const MAX_MESSAGE = 2_000
export const MAX_PART = 24_000
/** A model whose context has no room for so many cannot be used. */
export const MIN_PART = 750
/** Messages that a part shares with the next one, so that an answer is read with its question. */
const SHARED = 2
/** Most parts of a subject: its newest messages. */
const MAX_PARTS = 5

/** Consecutive messages of a subject. */
export interface Part {
  /** Number of the first message. */
  readonly from: number
  readonly texts: readonly string[]
}

/**
 * The newest parts, in the order of time. Each message is cut to 2,000 code units. A subject without words has no part.
 * @param maxPart code units of a part; less for a model with a short context
 */
export function partsOf({ said }: Subject, maxPart = MAX_PART): readonly Part[] {
  const maxMessage = Math.min(MAX_MESSAGE, maxPart)
  const texts = said.map(({ text }) => text.slice(0, maxMessage).toWellFormed())
  if (!said.some(({ own, text }) => !own && text.trim() !== '')) return []
  const parts: Part[] = []
  let end = texts.length
  while (end > 0 && parts.length < MAX_PARTS) {
    const from = startOf(texts, end, maxPart)
    parts.unshift({ from, texts: texts.slice(from, end) })
    if (from === 0) break
    end = Math.min(from + SHARED, end - 1)
  }
  return parts
}

/** Where the part that ends before `end` starts. */
function startOf(texts: readonly string[], end: number, maxPart: number): number {
  let from = end
  let size = 0
  while (from > 0 && end - from < MAX_MESSAGES) {
    size += texts[from - 1]?.length ?? 0
    if (size > maxPart && from < end) break
    from--
  }
  return from
}
