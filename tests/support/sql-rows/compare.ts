/** Compares a row type with the columns that PostgreSQL describes. */
import ts from 'typescript-5'
import type { Sql } from '../../../src/platform/db/pool.ts'
import type { TypedStatement } from './statements.ts'

interface Column {
  readonly name: string
  readonly type: number
  /** If the result column is a plain table column: `pg_attribute.attrelid` and `attnum`. Otherwise 0. */
  readonly table: number
  readonly number: number
}

/** Facts from `pg_type` and `pg_attribute`. */
export interface Catalog {
  /** Object identifier → name. The name of an array begins with `_`. */
  readonly types: ReadonlyMap<number, string>
  /** `table.number` of the columns that may be null. */
  readonly nullable: ReadonlySet<string>
}

type Kind = 'boolean' | 'number' | 'string' | 'Date' | 'bytes' | 'json'

/** The type that the driver returns for a PostgreSQL type, by its name in `pg_type`. */
const KINDS: Readonly<Record<string, Kind>> = {
  bool: 'boolean',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  float4: 'number',
  float8: 'number',
  text: 'string',
  varchar: 'string',
  name: 'string',
  uuid: 'string',
  date: 'Date',
  timestamp: 'Date',
  timestamptz: 'Date',
  bytea: 'bytes',
  json: 'json',
  jsonb: 'json',
}

/**
 * Lets the server describe the statement without running it. @returns what is wrong with the row type; empty if nothing
 * is
 */
export async function mistakesOf(
  sql: Sql,
  { types, nullable }: Catalog,
  checker: ts.TypeChecker,
  { text, row }: TypedStatement,
): Promise<readonly string[]> {
  const { columns } = (await sql.unsafe(text).describe()) as unknown as { columns: readonly Column[] }
  const fields = new Map(fieldsOf(row).map((field) => [field.name, checker.getTypeOfSymbol(field)]))
  const missing = [...fields.keys()].filter((name) => !columns.some((column) => column.name === name))
  const mistakeOf = ({ name, type, table, number }: Column): string | null => {
    const declared = fields.get(name)
    const actual = types.get(type) ?? 'unknown'
    // Functions such as `pg_notify()` return nothing.
    if (actual === 'void') return null
    if (declared === undefined) return `column ${name} is not in the row type`
    if (!reads(checker, declared, actual))
      return `${name} is ${checker.typeToString(declared)}, and the column is ${actual}`
    return nullable.has(`${table}.${number}`) && !allowsNull(declared) ? `${name} may be null` : null
  }
  return [
    ...missing.map((name) => `no column ${name}`),
    ...columns.map(mistakeOf).filter((mistake) => mistake !== null),
  ]
}

export async function readCatalog(sql: Sql): Promise<Catalog> {
  const types = await sql<{ oid: number; name: string }[]>`select oid::int, typname as name from pg_type`
  const columns = await sql<{ column: string }[]>`
    select attrelid::oid || '.' || attnum as column from pg_attribute where attnum > 0 and not attnotnull`
  return {
    types: new Map(types.map(({ oid, name }) => [oid, name])),
    nullable: new Set(columns.map(({ column }) => column)),
  }
}

/** Members of every constituent, because a union of row types has the columns of all of them. */
function fieldsOf(row: ts.Type): readonly ts.Symbol[] {
  const parts = row.isUnion() ? row.types : [row]
  const byName = new Map(parts.flatMap((part) => part.getProperties().map((field) => [field.name, field])))
  return [...byName.values()]
}

function allowsNull(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(allowsNull)
  return (type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0
}

function reads(checker: ts.TypeChecker, declared: ts.Type, column: string): boolean {
  if (declared.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return true
  const type = checker.getNonNullableType(declared)
  // Always null: a column that this statement never fills.
  if (type.flags & ts.TypeFlags.Never) return true
  if (column.startsWith('_')) {
    const item = checker.getIndexTypeOfType(type, ts.IndexKind.Number)
    return item !== undefined && reads(checker, item, column.slice(1))
  }
  const kind = KINDS[column]
  if (kind === undefined) return false
  return kind === 'json' || kindsOf(checker, type).every((one) => one === kind)
}

function kindsOf(checker: ts.TypeChecker, type: ts.Type): readonly string[] {
  if (type.isUnion()) return type.types.flatMap((part) => kindsOf(checker, part))
  const { flags } = type
  if (flags & ts.TypeFlags.BooleanLike) return ['boolean']
  if (flags & ts.TypeFlags.NumberLike) return ['number']
  // `ActorKey` and similar types are template literals.
  if (flags & ts.TypeFlags.StringLike) return ['string']
  const name = type.getSymbol()?.name ?? ''
  return [name === 'Buffer' || name === 'Uint8Array' ? 'bytes' : name]
}
