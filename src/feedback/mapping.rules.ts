/**
 * How the columns of a file become feedback records: which column identifies, whose feedback it is, when it was given, and
 * which field each of the others becomes.
 *
 * The rule: a column that nobody mentions becomes a `metadata` field under its own name in snake_case, so that nothing of a
 * file is lost silently.
 */

import { type Static, Type } from '@sinclair/typebox'
import { invalid, validate } from '../http/json.ts'
import { trimOf } from '../platform/validation/trim.ts'
import { CATEGORIES, type Category, FIELD_NAME, FIELD_TYPES, type FieldType } from './model.ts'

export interface FieldRule {
  readonly category: Category
  /** null: text is a `string`, JSON of its own type. */
  readonly type: FieldType | null
  readonly name: string
}

export interface Mapping {
  readonly externalId: string | null
  readonly email: string | null
  readonly timestamp: string | null
  /** By column; null: left out. */
  readonly columns: ReadonlyMap<string, FieldRule | null>
}

export type Role = 'externalId' | 'email' | 'timestamp'

/** Columns that have a meaning by their name where no other was named for it. */
const USUAL: Readonly<Record<Role, string>> = {
  externalId: 'external_id',
  email: 'email',
  timestamp: 'display_ts',
}
const ROLES = Object.keys(USUAL) as readonly Role[]

/** What a column is for. */
export type ColumnUse = { readonly role: Role } | { readonly rule: FieldRule } | { readonly role: 'none' }

/** @throws AppError 400 where the column would be a field but has no letter that a name could be made of */
export function useOfColumn(mapping: Mapping, column: string): ColumnUse {
  const rule = mapping.columns.get(column)
  if (rule === null) return { role: 'none' }
  if (rule !== undefined) return { rule }
  const role = ROLES.find((one) => (mapping[one] ?? USUAL[one]) === column)
  return role === undefined ? { rule: { category: 'metadata', type: null, name: nameFor(column) } } : { role }
}

const NAME = new RegExp(FIELD_NAME)

/** `Réponse (texte)` → `reponse_texte`. */
function nameFor(column: string): string {
  const words = column
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
  const name = trimOf(words, '_')
  if (NAME.test(name)) return name
  throw trouble(column, 'has no name in snake_case: give it one, such as column=metadata:string:name')
}

/** One `--map`: `column=category:type:name`, the last two optional; `column=-` leaves the column out. @throws AppError 400 */
export function parseColumnMap(text: string): readonly [column: string, rule: FieldRule | null] {
  const equals = text.lastIndexOf('=')
  if (equals < 1)
    throw trouble(text, 'must be column=category:type:name, or column=- to leave the column out')
  const column = text.slice(0, equals)
  return [column, parseRule(column, text.slice(equals + 1))]
}

function parseRule(column: string, text: string): FieldRule | null {
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

/** A mapping as a file: the columns as in `--map`, behind their names. */
const MappingFile = Type.Object(
  {
    external_id: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    timestamp: Type.Optional(Type.String()),
    columns: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
)
type MappingFile = Static<typeof MappingFile>

/** @throws AppError 400 where the JSON is not a mapping */
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

/** What `over` says goes before what `under` says. */
export function mergeMappings(under: Mapping, over: Mapping): Mapping {
  return {
    externalId: over.externalId ?? under.externalId,
    email: over.email ?? under.email,
    timestamp: over.timestamp ?? under.timestamp,
    columns: new Map([...under.columns, ...over.columns]),
  }
}

/** @throws AppError 400 where the mapping names a column that the file does not have, or two columns have one name */
export function checkHeader(mapping: Mapping, header: readonly string[]): void {
  const columns = new Set<string>()
  const repeated = header.find((column) => columns.size === columns.add(column).size)
  if (repeated !== undefined) throw trouble(repeated, 'is there twice: columns need different names')
  const named = [mapping.externalId, mapping.email, mapping.timestamp, ...mapping.columns.keys()]
  const missing = named.find((column) => column !== null && !columns.has(column))
  if (missing != null) throw trouble(missing, `is not in the file, which has ${header.join(', ')}`)
  for (const column of header) useOfColumn(mapping, column)
}

function trouble(column: string, message: string) {
  return invalid([{ path: `column ${JSON.stringify(column)}`, code: 'not_allowed', message }])
}
