/** Which passages are near a search in meaning, and how that is joined with the words that they have. Pure. */

/** UTF-16 code units of a text that its vector is made of. */
export const MEANING_CHARACTERS = 1_000
/** Length of a vector in bytes. */
const SCALE = 127
/** Less near passages are not shown. Of unrelated texts, less than one in a hundred is as near. */
const LEAST = 0.35
/** Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009), with its usual constant. */
const RANK = 60

const PHRASE = /"[^"]*"?/g

/** Several words, or as much in a script that has no spaces between words. A single word may be a name, or mistyped. */
const SEVERAL =
  /\S \S|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]{4}/u

/** What of a search has a meaning: no phrases, nothing that is excluded, no codes, no single word. Empty: nothing. */
export function meaningText(query: string): string {
  const words = query.replace(PHRASE, ' ').split(/\s/)
  const text = words.filter((word) => word !== '' && !word.startsWith('-') && !/\p{N}/u.test(word)).join(' ')
  return SEVERAL.test(text) ? text : ''
}

export interface Candidate {
  readonly id: number
  readonly vector: Uint8Array
}

export interface Near {
  readonly id: number
  /** Cosine. */
  readonly nearness: number
}

/** The near ones of the candidates, without order. @param wanted 256 signed bytes */
export function nearOf(wanted: Int8Array, candidates: readonly Candidate[]): readonly Near[] {
  return candidates.flatMap(({ id, vector }) => {
    const other = new Int8Array(vector.buffer, vector.byteOffset, vector.byteLength)
    let sum = 0
    for (let place = 0; place < wanted.length; place++) sum += wanted[place]! * (other[place] ?? 0)
    const nearness = sum / (SCALE * SCALE)
    return nearness < LEAST ? [] : [{ id, nearness }]
  })
}

/** A passage, and the conversation, record or recording that it belongs to. */
export interface Placed {
  readonly id: number
  readonly subject: string
}

/** Best first, each subject once: with its passage of the first list that has it. @param lists each best first, and each subject once */
export function fused(lists: readonly (readonly Placed[])[]): readonly number[] {
  const scores = new Map<string, { id: number; score: number }>()
  for (const list of lists)
    for (const [rank, { id, subject }] of list.entries()) {
      const score = 1 / (RANK + rank + 1)
      const known = scores.get(subject)
      if (known === undefined) scores.set(subject, { id, score })
      else known.score += score
    }
  return [...scores.values()].toSorted((a, b) => b.score - a.score).map(({ id }) => id)
}

/** The ids of further pages, which the cursor has. */
export const packIds = (ids: readonly number[]): string => ids.map((id) => id.toString(36)).join('.')

/** @returns null: it is no such text */
export function unpackIds(text: string, most: number): readonly number[] | null {
  const ids = text
    .split('.')
    .map((one) => (/^[0-9a-z]{1,10}$/.test(one) ? Number.parseInt(one, 36) : Number.NaN))
  return ids.length > most || !ids.every(Number.isSafeInteger) ? null : ids
}
