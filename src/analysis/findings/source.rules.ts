/** Bounds what is analysed, and joins utterances into turns. Pure. */

import type { Insight, Said } from '../analyze/insight.ts'
import { MAX_TEXT, textOf } from '../analyze/text.ts'
import { type Draft, type Quoted, type Result, resultOf, type Version } from './finding.rules.ts'
import type { Place, Source } from './source.ts'

/** Messages or turns of a subject that are read beside the first: the newest. */
const NEWEST = 200

export interface Item {
  readonly said: Said
  readonly place: Place
}

/** A typed value of a feedback record. */
export interface Field {
  readonly category: string
  readonly type: string
  readonly name: string
  readonly value: unknown
}

/** The text fields that are the feedback itself. Ratings and other values make no findings. */
export function itemsOfFields(
  fields: readonly Field[],
  occurredAt: string,
  personId: number | null,
): readonly Item[] {
  return fields
    .filter(({ category, type }) => category === 'content' && type === 'string')
    .map(({ name, value }) => ({
      said: { own: false, text: textOf(value) },
      place: { field: name, personId, occurredAt },
    }))
    .filter(({ said }) => said.text !== '')
}

export interface Spoken {
  readonly startSec: number
  readonly speaker: number
  readonly text: string
  /** True for a person who belongs to the company. */
  readonly own: boolean
  readonly personId: number | null
  readonly occurredAt: string
}

interface Turn {
  readonly first: Spoken
  text: string
  readonly utterances: { from: number; startSec: number }[]
}

/** Consecutive utterances of a speaker are one turn, one utterance a line. The first turn and the newest are read. */
export function itemsOfSpeech(utterances: readonly Spoken[]): readonly Item[] {
  const turns: Turn[] = []
  for (const spoken of utterances) {
    const text = textOf(spoken.text)
    if (text === '') continue
    const last = turns.at(-1)
    const { startSec } = spoken
    if (last?.first.speaker === spoken.speaker && last.text.length + text.length < MAX_TEXT) {
      last.utterances.push({ from: last.text.length + 1, startSec })
      last.text += `\n${text}`
    } else turns.push({ first: spoken, text, utterances: [{ from: 0, startSec }] })
  }
  const read = turns.length > NEWEST + 1 ? [...turns.slice(0, 1), ...turns.slice(-NEWEST)] : turns
  return read.map(({ first: { own, personId, occurredAt }, text, utterances: starts }) => ({
    said: { own, text },
    place: { utterances: starts, personId, occurredAt },
  }))
}

/** A quotation stays within one utterance. */
export function resultOfSource(insight: Insight, { said, places }: Source, analyzer: Version): Result {
  return resultOf(insight, said, analyzer, (index, from) => {
    const next = places[index]?.utterances?.find((one) => one.from > from)
    return next === undefined ? Number.POSITIVE_INFINITY : next.from - 1
  })
}

/** The findings of a feedback record or a recording, with the places of their quotations. */
export function draftsOf({ places }: Source, findings: readonly Quoted[]): readonly Draft[] {
  return findings.flatMap(({ index, from, quote, ...finding }) => {
    const place = places[index]
    if (place === undefined) return []
    const { field = null, personId = null, occurredAt } = place
    const startSec = place.utterances?.findLast((one) => one.from <= from)?.startSec ?? null
    return [{ ...finding, comment: quote, field, startSec, personId, occurredAt }]
  })
}
