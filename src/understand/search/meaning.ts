/** Where texts are in the space of vectors, for the index and for what is looked for. The text process computes it. */
import type { TextWork } from '../../analysis/analyze/text-work.ts'
import { MEANING_CHARACTERS } from './meaning.rules.ts'

/** Of a passage, as it is stored. */
export interface Meaning {
  readonly cell: number
  /** 256 signed bytes, in base64. */
  readonly vector: string
}

/** By the beginnings of the texts (`meaningKey`). Texts without known words have none. */
export type Meanings = ReadonlyMap<string, Meaning>

/** What of a text its vector is made of. */
export const meaningKey = (text: string): string => text.slice(0, MEANING_CHARACTERS)

/** @throws TextWorkError */
export async function meaningsOf(
  textWork: TextWork,
  texts: readonly string[],
  signal: AbortSignal,
  organizationId?: string,
): Promise<Meanings> {
  const keys = [...new Set(texts.map(meaningKey))]
  if (keys.length === 0) return new Map()
  const places = await textWork.run('places', { texts: keys, cells: 1 }, signal, organizationId)
  return new Map(
    places.flatMap((place, n) =>
      place === null ? [] : [[keys[n]!, { cell: place.cells[0]!, vector: place.vector }] as const],
    ),
  )
}
