/**
 * Maps the columns of a file to feedback records: the external id, the person's e-mail address, the time, and the field of
 * each other column.
 *
 * A column without a mapping becomes a `metadata` field under its own name in snake_case, so that no data is lost silently.
 */

import { type Static, Type } from '@sinclair/typebox'
import anyAscii from 'any-ascii'
import { streamSafe } from '../../../platform/text/normal-form.rules.ts'
import { invalid, validate } from '../../../platform/validation/json.ts'
import { trimOf } from '../../../platform/validation/trim.ts'
import { CATEGORIES, type Category, FIELD_NAME, FIELD_TYPES, type FieldType } from '../model.ts'

export interface FieldRule {
  readonly category: Category
  /** Null: text becomes a `string`, JSON keeps its own type. */
  readonly type: FieldType | null
  readonly name: string
}

export interface Mapping {
  readonly externalId: string | null
  readonly email: string | null
  readonly timestamp: string | null
  /** Rules by column. Null leaves a column out. */
  readonly columns: ReadonlyMap<string, FieldRule | null>
}

export type Role = 'externalId' | 'email' | 'timestamp'

/** Column names with a meaning of their own, unless the mapping names another column. */
const USUAL: Readonly<Record<Role, string>> = {
  externalId: 'external_id',
  email: 'email',
  timestamp: 'display_ts',
}
const ROLES = Object.keys(USUAL) as readonly Role[]

/** The purpose of a column. */
export type ColumnUse = { readonly role: Role } | { readonly rule: FieldRule } | { readonly role: 'none' }

/** @throws AppError 400 if the column would be a field but contains no letter or digit for a name */
export function useOfColumn(mapping: Mapping, column: string): ColumnUse {
  const rule = mapping.columns.get(column)
  if (rule === null) return { role: 'none' }
  if (rule !== undefined) return { rule }
  const role = ROLES.find((one) => (mapping[one] ?? USUAL[one]) === column)
  return role === undefined ? { rule: { category: 'metadata', type: null, name: nameFor(column) } } : { role }
}

const NAME = new RegExp(FIELD_NAME)

/** Of a longer name only the beginning is transliterated. */
const MAX_COLUMN_NAME = 200

/** `Réponse (texte)` → `reponse_texte`, `Комментарий` → `kommentariy`. */
function nameFor(column: string): string {
  const name = fieldName(column)
  if (name !== null) return name
  throw trouble(column, 'cannot become a name in snake_case: map it, such as column=metadata:string:name')
}

/** null: the column has no sign that a name can be made of. Only columns without Latin letters are transliterated. */
export function fieldName(column: string): string | null {
  const latin = snakeCase(column)
  if (NAME.test(latin)) return latin
  const other = snakeCase(anyAscii(column.slice(0, MAX_COLUMN_NAME).normalize('NFC')))
  return NAME.test(other) ? other : null
}

function snakeCase(text: string): string {
  const words = streamSafe(text)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
  return trimOf(words, '_')
}

/** Parses one `--map`: `column=category:type:name` (type and name optional), or `column=-` to omit it. @throws AppError 400 */
export function parseColumnMap(text: string): readonly [column: string, rule: FieldRule | null] {
  const equals = text.lastIndexOf('=')
  if (equals < 1)
    throw trouble(text, 'must be column=category:type:name, or column=- to leave the column out')
  const column = text.slice(0, equals)
  return [column, parseRule(column, text.slice(equals + 1))]
}

function parseRule(column: string, text: unknown): FieldRule | null {
  // The schema of a record does not reach members whose name contains a line break: its pattern ends there.
  if (typeof text !== 'string') throw trouble(column, 'must be a text')
  if (text === '-') return null
  const [categoryText, typeText = '', nameText = '', ...rest] = text.split(':')
  const category = CATEGORIES.find((one) => one === categoryText)
  if (category === undefined) throw trouble(column, `must have a category of ${CATEGORIES.join(', ')}`)
  const type = FIELD_TYPES.find((one) => one === typeText) ?? null
  if (type === null && typeText !== '') throw trouble(column, `must have a type of ${FIELD_TYPES.join(', ')}`)
  const name = nameText === '' ? nameFor(column) : nameText
  if (!NAME.test(name) || rest.length > 0)
    throw trouble(column, 'must have a name in snake_case: lower-case letters, digits and _')
  return { category, type, name }
}

/** A mapping file. `columns` maps column names to rules as in `--map`. */
export const MappingFile = Type.Object(
  {
    external_id: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    timestamp: Type.Optional(Type.String()),
    columns: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
)
export type MappingFile = Static<typeof MappingFile>

/** @throws AppError 400 if the JSON is not a mapping */
export function parseMappingFile(json: unknown): Mapping {
  const file: MappingFile = validate(MappingFile, json)
  return {
    externalId: file.external_id ?? null,
    email: file.email ?? null,
    timestamp: file.timestamp ?? null,
    columns: new Map(
      Object.entries(file.columns ?? {}).map(([column, text]) => [column, parseRule(column, text)]),
    ),
  }
}

export const NO_MAPPING: Mapping = { externalId: null, email: null, timestamp: null, columns: new Map() }

/** `over` takes precedence over `under`. */
export function mergeMappings(under: Mapping, over: Mapping): Mapping {
  return {
    externalId: over.externalId ?? under.externalId,
    email: over.email ?? under.email,
    timestamp: over.timestamp ?? under.timestamp,
    columns: new Map([...under.columns, ...over.columns]),
  }
}

/** @throws AppError 400 if the mapping names a missing column, or two columns have the same name */
export function checkHeader(mapping: Mapping, header: readonly string[]): void {
  const columns = new Set<string>()
  const repeated = header.find((column) => columns.size === columns.add(column).size)
  if (repeated !== undefined) throw trouble(repeated, 'occurs twice: column names must be unique')
  const named = [mapping.externalId, mapping.email, mapping.timestamp, ...mapping.columns.keys()]
  const missing = named.find((column) => column !== null && !columns.has(column))
  if (missing != null) throw trouble(missing, `is not in the file, which has ${header.join(', ')}`)
  for (const column of header) useOfColumn(mapping, column)
}

function trouble(column: string, message: string) {
  const name = column.replaceAll(/\p{Cc}/gu, '\u{fffd}')
  return invalid([{ path: `column ${JSON.stringify(name)}`, code: 'not_allowed', message }])
}
