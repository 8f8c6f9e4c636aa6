/** Converts errors of the validator to findings for the sender: one for each invalid place, with a code and a message. */
import type { TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import type { DetailCode, ErrorDetail } from '../errors.ts'
import { wordsOf } from './words.ts'

/** At most this many findings are reported for one value. */
const MAX_DETAILS = 20

/** The first finding of each place, in the order of the validator. Empty if the lengths are right when counted in code points. */
export function findingsOf(errors: Iterable<ValueError>): readonly ErrorDetail[] {
  const byPath = new Map<string, ErrorDetail>()
  for (const error of preciseErrors(errors)) {
    const path = readablePath(error.path)
    if (!byPath.has(path)) byPath.set(path, { path, code: codeOf(error), message: messageOf(error) })
    if (byPath.size >= MAX_DETAILS) break
  }
  return [...byPath.values()]
}

/** The errors. If it is clear which alternative of a choice is meant, its errors replace the error of the choice. */
function* preciseErrors(errors: Iterable<ValueError>): Generator<ValueError> {
  for (const error of errors) {
    if (isShortEnough(error)) continue
    const meant = error.type === ValueErrorType.Union ? meantAlternative(error) : null
    if (meant === null) yield error
    else yield* preciseErrors(meant)
  }
}

/**
 * The errors of the intended alternative: the only one with the JSON type of the value, or the only object with the same
 * constant members. Null if there is none.
 */
function meantAlternative({ schema, value, errors }: ValueError): Iterable<ValueError> | null {
  const options = schema.anyOf as readonly TSchema[]
  const fitting = options.flatMap((option, index) => (hasTypeOf(option, value) ? [{ option, index }] : []))
  const found =
    fitting.length === 1 ? fitting : fitting.filter(({ option }) => hasConstantsOf(option, value as object))
  return found.length === 1 ? (errors[found[0]!.index] ?? null) : null
}

function hasTypeOf(schema: TSchema, value: unknown): boolean {
  if ('const' in schema) return false
  switch (schema.type) {
    case 'integer':
    case 'number':
      return typeof value === 'number'
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'string':
    case 'boolean':
      return typeof value === schema.type
    default:
      return Array.isArray(schema.anyOf) && schema.anyOf.some((option) => hasTypeOf(option, value))
  }
}

function hasConstantsOf(schema: TSchema, value: object): boolean {
  const constants = Object.entries((schema.properties ?? {}) as Record<string, TSchema>).filter(
    ([, member]) => 'const' in member,
  )
  return (
    constants.length > 0 &&
    constants.every(([name, member]) => (value as Record<string, unknown>)[name] === member.const)
  )
}

/** True if the text is too long in UTF-16 units but not in Unicode code points, which count. */
function isShortEnough({ type, schema, value }: ValueError): boolean {
  if (type !== ValueErrorType.StringMaxLength || typeof value !== 'string') return false
  let length = 0
  for (const _ of value) length++
  return length <= schema.maxLength
}

function codeOf({ type, schema }: ValueError): DetailCode {
  switch (type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return 'unknown_member'
    case ValueErrorType.ObjectRequiredProperty:
      return 'required'
    case ValueErrorType.StringMinLength:
    case ValueErrorType.StringMaxLength:
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ArrayMaxItems:
    case ValueErrorType.ObjectMaxProperties:
    case ValueErrorType.ObjectMinProperties:
      return 'length'
    case ValueErrorType.NumberMinimum:
    case ValueErrorType.NumberMaximum:
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.IntegerMaximum:
      return 'range'
    case ValueErrorType.StringPattern:
      return 'pattern'
    case ValueErrorType.StringFormat:
      return CODES_OF_FORMATS[schema.format] ?? 'format'
    case ValueErrorType.Union:
      return isChoiceOfValues(schema) ? 'not_allowed' : 'type'
    case ValueErrorType.Literal:
      return 'not_allowed'
    default:
      return 'type'
  }
}

const CODES_OF_FORMATS: Readonly<Record<string, DetailCode>> = { 'date-time': 'date_time', uuid: 'uuid' }

const isChoiceOfValues = (schema: TSchema): boolean =>
  'const' in schema || ((schema.anyOf ?? []) as readonly TSchema[]).some(isChoiceOfValues)

function messageOf({ type, schema }: ValueError): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'is required'
    case ValueErrorType.ObjectAdditionalProperties:
      return 'is not a member of this object'
    case ValueErrorType.StringMinLength:
    case ValueErrorType.StringMaxLength:
      return lengthMessage(schema.minLength, schema.maxLength, 'characters', type)
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ArrayMaxItems:
      return lengthMessage(schema.minItems, schema.maxItems, 'items', type)
    case ValueErrorType.ObjectMinProperties:
    case ValueErrorType.ObjectMaxProperties:
      return lengthMessage(schema.minProperties, schema.maxProperties, 'members', type)
    default:
      return `must be ${wordsOf(schema)}`
  }
}

const TOO_SHORT: ReadonlySet<ValueErrorType> = new Set([
  ValueErrorType.StringMinLength,
  ValueErrorType.ArrayMinItems,
  ValueErrorType.ObjectMinProperties,
])

function lengthMessage(
  minimum: number | undefined,
  maximum: number | undefined,
  things: string,
  type: ValueErrorType,
): string {
  if (!TOO_SHORT.has(type)) return `must have at most ${maximum} ${things}`
  return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} ${things}`
}

/** `/events/3/sequence` (RFC 6901) → `events[3].sequence`. */
function readablePath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(
      (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
      '',
    )
}
