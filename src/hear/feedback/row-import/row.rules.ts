/**
 * Turns one row of a file into a feedback record, or into the reason why it is refused. The limits are those of the HTTP
 * interface.
 */

import { AppError } from '../../../platform/errors.ts'
import {
  exactNumber,
  isNumberText,
  type NumberText,
} from '../../../platform/validation/exact-number.rules.ts'
import { isStorableText, parseJson } from '../../../platform/validation/json.ts'
import { contactAddress } from '../../../platform/validation/user-address.ts'
import { type Field, type FieldType, MAX_EXTERNAL_ID, MAX_FIELDS } from '../model.ts'
import { checkValue } from '../rules.ts'
import { type ColumnUse, type FieldRule, type Mapping, type Role, useOfColumn } from './mapping.rules.ts'
import { MOMENT_EXAMPLES, momentOf } from './moment.rules.ts'

/** A row of a file. Values are text if the file format has no types. */
export interface Row {
  readonly columns: readonly string[]
  readonly values: readonly unknown[]
  /** True if the values are text to convert (CSV), false if they have types (JSON). */
  readonly isText: boolean
}

export interface ImportRecord {
  readonly externalId: string | null
  readonly email: string | null
  /** In UTC; null means now. */
  readonly displayTs: string | null
  readonly fields: readonly Field[]
}

/** Why a row is refused. Used in this file only. */
class Refusal extends Error {}

/** Judges the rows of one file and caches the purpose of its columns. @returns the record, or the reason in one line */
export function createJudge(mapping: Mapping): (row: Row) => ImportRecord | string {
  const uses = new Map<string, ColumnUse>()
  const useOf = (column: string): ColumnUse => {
    let use = uses.get(column)
    if (use === undefined) {
      use = useOfColumn(mapping, column)
      // JSON rows may bring new columns without end.
      if (uses.size < MAX_CACHED_COLUMNS) uses.set(column, use)
    }
    return use
  }
  return (row) => {
    try {
      return judge(row, useOf)
    } catch (error) {
      if (error instanceof Refusal || error instanceof AppError) return error.message
      throw error
    }
  }
}

const MAX_CACHED_COLUMNS = 10_000

function judge({ columns, values, isText }: Row, useOf: (column: string) => ColumnUse): ImportRecord {
  const record: Record<Role, string | null> = { externalId: null, email: null, timestamp: null }
  const fields: Field[] = []
  for (const [index, column] of columns.entries()) {
    const value = values[index]
    // An empty cell has no value.
    if (value === null || value === undefined || (isText && value === '')) continue
    const use = useOf(column)
    if ('rule' in use) fields.push(fieldOf(column, use.rule, value, isText))
    else if (use.role !== 'none') record[use.role] = READ[use.role](column, value)
  }
  if (fields.length === 0) throw new Refusal('no field has a value')
  if (fields.length > MAX_FIELDS) throw new Refusal(`has more than ${MAX_FIELDS} fields`)
  return { externalId: record.externalId, email: record.email, displayTs: record.timestamp, fields }
}

const READ: Record<Role, (column: string, value: unknown) => string> = {
  externalId(column, value) {
    const text = typeof value === 'number' || isNumberText(value) ? String(value) : value
    if (
      typeof text === 'string' &&
      text !== '' &&
      [...text].length <= MAX_EXTERNAL_ID &&
      isStorableText(text)
    )
      return text
    throw refusal(column, `must have 1 to ${MAX_EXTERNAL_ID} characters`)
  },
  email(column, value) {
    const address = typeof value === 'string' && isStorableText(value) ? contactAddress(value) : null
    if (address !== null) return address
    throw refusal(column, 'must be an e-mail address')
  },
  timestamp(column, value) {
    const utc = typeof value === 'string' ? momentOf(value.trim()) : null
    if (utc !== null) return utc
    throw refusal(column, `must be ${MOMENT_EXAMPLES}`)
  },
}

function fieldOf(column: string, rule: FieldRule, given: unknown, isText: boolean): Field {
  const type = rule.type ?? (isText ? 'string' : typeOf(given))
  const value = isText ? FROM_TEXT[type](given as string) : given
  if (value === undefined)
    throw refusal(column, `must be ${type === 'json' ? 'JSON' : `of the type ${type}`}`)
  const finding = checkValue(type, value, `column ${JSON.stringify(column)}`)
  if (finding !== null) throw new Refusal(`${finding.path}: ${finding.message}`)
  if (typeof value === 'string' && !isStorableText(value)) throw refusal(column, 'must not contain U+0000')
  return { category: rule.category, type, name: rule.name, value }
}

function typeOf(value: unknown): FieldType {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'float'
  if (isNumberText(value)) return 'float'
  return 'json'
}

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
])
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Undefined if the text is not a value of the type. Spaces around anything but a string are ignored. */
const FROM_TEXT: Record<FieldType, (text: string) => unknown> = {
  boolean: (text) => WORDS.get(text.trim().toLowerCase()),
  date: (text) => text.trim(),
  datetime: (text) => text.trim(),
  float: numberOf,
  integer: (text) => (/^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : undefined),
  json: jsonOf,
  string: (text) => text,
}

/** JSON knows neither a sign nor a point in front, nor a point at the end. */
function numberOf(text: string): number | NumberText | undefined {
  const trimmed = text.trim()
  if (!NUMBER.test(trimmed)) return undefined
  const value = exactNumber(trimmed)
  return isNumberText(value) && !JSON_NUMBER.test(trimmed) ? Number(trimmed) : value
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(Buffer.from(text))
  } catch {
    return undefined
  }
}

function refusal(column: string, message: string): Refusal {
  return new Refusal(`column ${JSON.stringify(column)}: ${message}`)
}
