/**
 * How a question is put to an OpenAI-compatible server. Pure.
 *
 * The protocol has grown, and servers differ: llama-cpp-python knows no `json_schema` but a `schema` beside `json_object`; OpenAI's schemas
 * have no `maxLength`, and its reasoning models take `max_completion_tokens` and no `temperature`.
 *
 * Schemas say how long a text or a list should be with `longest`. Only the server gets that, as `maxLength` or `maxItems`, so that a weak
 * model does not write without end. An answer that exceeds it is still read.
 */
import type { TSchema } from '@sinclair/typebox'
import type { Refusal } from '../../platform/net/openai-refusal.rules.ts'

export interface Dialect {
  readonly format: 'json_schema' | 'json_object' | 'none'
  /** Whether the server gets the bounds of the schema. */
  readonly hasBounds: boolean
  readonly limit: 'max_tokens' | 'max_completion_tokens'
  readonly hasTemperature: boolean
}

/** The first attempt. */
export const DIALECT: Dialect = {
  format: 'json_schema',
  hasBounds: true,
  limit: 'max_tokens',
  hasTemperature: true,
}

/** Words of refusals that tell what to give up. */
export const WORDS = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'response_format',
  'json_schema',
  'json_object',
  'maxLength',
  'maxItems',
  'schema',
] as const

/** @returns the dialect without what the server refused; null if there is nothing to give up */
export function simplerDialect(dialect: Dialect, { names, isTooLong }: Refusal): Dialect | null {
  const has = (...words: readonly (typeof WORDS)[number][]) => words.some((word) => names.has(word))
  if (isTooLong) return null
  if (has('max_tokens', 'max_completion_tokens') && dialect.limit === 'max_tokens')
    return { ...dialect, limit: 'max_completion_tokens' }
  if (has('temperature') && dialect.hasTemperature) return { ...dialect, hasTemperature: false }
  if (has('maxLength', 'maxItems') && dialect.hasBounds) return { ...dialect, hasBounds: false }
  if (!has('response_format', 'json_schema', 'json_object', 'schema')) return null
  if (dialect.format === 'json_schema') return { ...dialect, format: 'json_object' }
  return dialect.format === 'json_object' ? { ...dialect, format: 'none' } : null
}

/** The body of a request. The same question in the same dialect always makes the same body. */
export function bodyOf(
  { format, hasBounds, limit, hasTemperature }: Dialect,
  model: string,
  question: {
    readonly name: string
    readonly instructions: string
    readonly data: unknown
    readonly answer: TSchema
  },
  maxTokens: number | undefined,
): object {
  const schema = sent(question.answer, hasBounds)
  // A server that has not agreed to follow the schema may ignore it. Then the model has to know it.
  const system =
    format === 'json_schema'
      ? question.instructions
      : `${question.instructions}\nAnswer with one JSON object of this JSON Schema, and nothing else: ${JSON.stringify(sent(question.answer, false))}`
  return {
    model,
    ...(hasTemperature ? { temperature: 0 } : {}),
    ...(maxTokens === undefined ? {} : { [limit]: maxTokens }),
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: JSON.stringify(question.data) },
    ],
    ...formatOf(format, question.name, schema),
  }
}

function formatOf(format: Dialect['format'], name: string, schema: unknown): object {
  if (format === 'none') return {}
  if (format === 'json_object') return { response_format: { type: 'json_object', schema } }
  return { response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } } }
}

/** The schema with its bounds in the words of JSON Schema, or without them. */
function sent(schema: unknown, hasBounds: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((one) => sent(one, hasBounds))
  if (typeof schema !== 'object' || schema === null) return schema
  const { longest, ...rest } = schema as Readonly<Record<string, unknown>>
  const parts = Object.entries(rest).map(([name, value]) => [name, sent(value, hasBounds)] as const)
  const bound = rest.type === 'array' ? 'maxItems' : 'maxLength'
  return Object.fromEntries(
    longest === undefined || !hasBounds ? parts : [...parts, [bound, longest] as const],
  )
}
