/** Labelled items, one JSON object a line. docs/insight.md describes the form. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { CHANNELS } from '../../../kernel/channel.ts'
import { KINDS, OUTCOMES, SENTIMENTS } from '../insight.ts'

const oneOf = <const T extends string>(values: readonly T[]) =>
  Type.Union(values.map((value) => Type.Literal(value)))

const Item = Type.Object({
  id: Type.String(),
  channel: oneOf(CHANNELS),
  /** ISO 639-1. */
  language: Type.String(),
  /** What the item tests, such as `sarcasm`. */
  group: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  /** Who wrote it, such as a product or a forum. Figures are given for each. */
  source: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  said: Type.Array(Type.Object({ own: Type.Boolean(), text: Type.String() })),
  kinds: Type.Array(oneOf(KINDS)),
  /** Null for feedback. */
  outcome: Type.Union([oneOf(OUTCOMES), Type.Null()]),
  sentiment: oneOf(SENTIMENTS),
})
export type Item = Static<typeof Item>

/** An item that cannot be read. The message has its line number and no content. */
export class ItemError extends Error {
  override readonly name = 'ItemError'
}

/** @throws ItemError */
export function parseItems(text: string): readonly Item[] {
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseItem(line, index + 1)]))
}

function parseItem(line: string, number: number): Item {
  let item: unknown
  try {
    item = JSON.parse(line)
  } catch {
    throw new ItemError(`line ${number} is not JSON`)
  }
  if (Value.Check(Item, item)) return item
  const path = Value.Errors(Item, item).First()?.path ?? ''
  throw new ItemError(`line ${number}: ${path.slice(1) || 'the line'} is not as expected`)
}
