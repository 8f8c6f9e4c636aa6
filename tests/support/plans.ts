/** Measures what statements read. It records them as the service sends them, and explains them on a separate connection. */
import type { Query, Sql } from '../../src/platform/db/pool.ts'

export interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
}

/** Passes every statement that is sent through `sql` to `note`. */
export function noting(sql: Query, note: (statement: () => Statement | null) => void): Query {
  return new Proxy(sql, {
    apply(target, self, args: unknown[]) {
      const made: unknown = Reflect.apply(target, self, args)
      // Fragments of other statements are created in the same way, but are never sent.
      note(() => sentOf(made))
      return made
    },
  })
}

function sentOf(made: unknown): Statement | null {
  const { string, parameters } = made as {
    readonly string?: string | null
    readonly parameters?: readonly { readonly value: unknown }[]
  }
  if (typeof string !== 'string' || parameters === undefined) return null
  return { text: string, parameters: parameters.map((one) => ('value' in Object(one) ? one.value : one)) }
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

export interface Reading {
  /** Rows read from tables and indexes, including rows that a condition removed. */
  readonly rows: number
  /** Pages of 8 KiB. */
  readonly pages: number
  /** Tables that are read completely. */
  readonly scanned: readonly string[]
  /** Every step that reads, as text: its kind, its index or table, its rows. */
  readonly steps: readonly string[]
}

/** Prepares the statement under `name` on the only connection of `sql`, and plans it once as a kept plan. */
export async function prepare(sql: Sql, name: string, statement: Statement): Promise<void> {
  await sql.unsafe(`prepare ${name} as ${statement.text}`)
  await sql.unsafe(`explain ${execution(name, statement)}`)
}

/** Runs the prepared statement. */
export async function reading(sql: Sql, name: string, statement: Statement): Promise<Reading> {
  const [row] = await sql.unsafe<{ 'QUERY PLAN': [{ Plan: Node & Record<string, number> }] }[]>(
    `explain (analyze, buffers, timing off, format json) ${execution(name, statement)}`,
  )
  const plan = row?.['QUERY PLAN'][0].Plan
  if (plan === undefined) throw new Error('nothing was explained')
  const nodes = [...nodesOf(plan)]
  return {
    rows: nodes.reduce((sum, node) => sum + rowsRead(node), 0),
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    scanned: nodes
      .filter((node) => node['Node Type'] === 'Seq Scan')
      .map((node) => node['Relation Name'] ?? ''),
    steps: nodes
      .filter((node) => rowsRead(node) > 0)
      .map(
        (node) => `${node['Node Type']} ${node['Index Name'] ?? node['Relation Name']}: ${rowsRead(node)}`,
      ),
  }
}

function execution(name: string, { parameters }: Statement): string {
  const values = parameters.map(literal).join(', ')
  return `execute ${name}${values === '' ? '' : `(${values})`}`
}

function literal(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return quoted(`{${value.map((one) => JSON.stringify(String(one))).join(',')}}`)
  return quoted(value instanceof Date ? value.toISOString() : String(value))
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

function* nodesOf(node: Node): Generator<Node> {
  yield node
  for (const child of node.Plans ?? []) yield* nodesOf(child)
}

function rowsRead(node: Node): number {
  if (node['Relation Name'] === undefined) return 0
  const each =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.ceil(each * node['Actual Loops'])
}
