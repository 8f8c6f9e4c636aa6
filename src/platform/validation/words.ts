/**
 * Describes the values that a schema accepts, for error messages of the form "must be …".
 *
 * A message contains neither the name of the validator nor a regular expression. A schema with a `pattern` has `words` that
 * describe the pattern.
 */
import { Kind, type TSchema } from '@sinclair/typebox'
import { wordsOfFormat } from './formats.ts'

/** Completes "must be …": `an integer from 1 to 3650, or null`. */
export function wordsOf(schema: TSchema): string {
  if (typeof schema.words === 'string') return schema.words
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(schema.anyOf)) return wordsOfAlternatives(schema.anyOf)
  switch (schema.type) {
    case 'string':
      return wordsOfString(schema)
    case 'integer':
      return `an integer${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `an array${amount(schema.minItems, schema.maxItems, 'items')}`
    case 'object':
      return `an object${amount(schema.minProperties, schema.maxProperties, 'members')}`
    case 'null':
      return 'null'
    default:
      return `JSON (${String(schema[Kind])})`
  }
}

function wordsOfAlternatives(options: readonly TSchema[]): string {
  const constants = options.filter((option) => 'const' in option)
  const others = options.filter((option) => !('const' in option) && option.type !== 'null')
  const listed = constants.map((option) => JSON.stringify(option.const)).join(', ')
  const phrases = [
    ...(constants.length === 0 ? [] : [constants.length === 1 ? listed : `one of ${listed}`]),
    ...new Set(others.map(wordsOf)),
    ...(options.some((option) => option.type === 'null') ? ['null'] : []),
  ]
  return phrases.length < 2 ? phrases.join() : `${phrases.slice(0, -1).join(', ')}, or ${phrases.at(-1)}`
}

function wordsOfString(schema: TSchema): string {
  if (schema.format !== undefined) return wordsOfFormat(schema.format)
  const { minLength, maxLength } = schema
  if (minLength === 1 && maxLength === undefined) return 'a string that is not empty'
  return `a string${amount(minLength, maxLength, 'characters')}`
}

/** ` of 1 to 50 items`. Empty without bounds. */
function amount(minimum: number | undefined, maximum: number | undefined, things: string): string {
  if (minimum !== undefined && maximum !== undefined) return ` of ${minimum} to ${maximum} ${things}`
  if (maximum !== undefined) return ` of at most ${maximum} ${things}`
  if (minimum !== undefined) return ` of at least ${minimum} ${minimum === 1 ? things.slice(0, -1) : things}`
  return ''
}

/** ` from 1 to 100`. Empty without bounds. */
function range({ minimum, maximum }: TSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` of at least ${minimum}`
  return maximum === undefined ? '' : ` of at most ${maximum}`
}
