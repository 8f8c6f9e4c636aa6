/** JSON Schemas as clients get them: without the keywords of this service, and with `enum` for lists of words. */
import type { TSchema } from '@sinclair/typebox'

const OWN_KEYWORDS = new Set(['$id', 'words', 'documented', 'useDescription'])

/** A schema of an input or output, as JSON. */
export function wireSchema(schema: TSchema): Record<string, unknown> {
  const { anyOf, ...others } = schema
  const words = wordsOf(anyOf)
  const shown = words === null ? schema : { ...others, type: 'string', enum: words }
  return Object.fromEntries(
    Object.entries(shown)
      .filter(([name]) => !OWN_KEYWORDS.has(name))
      .map(([name, value]) => [name, wireKeyword(name, value)]),
  )
}

function wireKeyword(name: string, value: unknown): unknown {
  if (name === 'items') return wireSchema(value as TSchema)
  if (name === 'anyOf') return (value as TSchema[]).map(wireSchema)
  if (name !== 'properties') return value
  const members = Object.entries(value as Record<string, TSchema>)
  return Object.fromEntries(members.map(([member, schema]) => [member, wireSchema(schema)]))
}

/** Null if the options are not all words. */
function wordsOf(options: unknown): readonly string[] | null {
  if (!Array.isArray(options)) return null
  const words = options.map((option: TSchema) => option.const)
  return words.every((word) => typeof word === 'string') ? words : null
}
