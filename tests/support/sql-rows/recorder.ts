/** A connection that sends nothing. It records each statement together with the template that created it. */
import { textOf } from './program.ts'

interface Recorded {
  /** With `$1`, `$2`, … in place of values. */
  readonly statement: string
  /** The strings of the outer template (`textOf`). */
  readonly template: string
}

/** Stands for a fragment of a statement: its strings, and the number of values between them. */
class Piece {
  used = false
  constructor(
    readonly parts: readonly (string | Value)[],
    readonly template: string,
    readonly rows: () => unknown,
  ) {}

  execute(): this {
    return this
  }

  /** An awaited fragment is a statement that was sent. */
  // biome-ignore lint/suspicious/noThenProperty: the driver's pending query is awaited, too
  then(resolved: (rows: unknown) => unknown): Promise<unknown> {
    return Promise.resolve(this.rows()).then(resolved)
  }
}

class Value {}
class Identifier {
  constructor(readonly text: string) {}
}

export interface Recorder {
  /** Used in place of the driver's connection and transactions. */
  readonly query: unknown
  /** A fragment that a caller would have created. */
  fragment(text: string): unknown
  statements(): readonly Recorded[]
}

/** `rowsOf` returns the rows that answer the statement of a template. */
export function createRecorder(rowsOf: (template: string) => readonly unknown[]): Recorder {
  const pieces: Piece[] = []
  const query = (first: unknown, ...values: unknown[]): unknown => {
    if (!isTemplate(first)) return new Identifier(quoted(first))
    const template = textOf(first)
    const piece = new Piece(interleave(first, values), template, () => answer(rowsOf(template)))
    pieces.push(piece)
    return piece
  }
  const begin = (...args: unknown[]) => (args.at(-1) as (tx: unknown) => unknown)(query)
  Object.assign(query, { begin, savepoint: begin, json: () => new Value(), array: () => new Value() })
  return {
    query,
    fragment: (text) => new Piece([text], '', () => []),
    statements: () =>
      pieces
        .filter(({ used }) => !used)
        .map(({ parts, template }) => ({ statement: numbered(parts), template })),
  }
}

/** The driver's result: rows, and the number of written rows. */
function answer(rows: readonly unknown[]): unknown {
  return Object.assign([...rows], { count: rows.length })
}

function isTemplate(first: unknown): first is TemplateStringsArray {
  return Array.isArray(first) && 'raw' in first
}

function quoted(name: unknown): string {
  return String(name)
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
}

function interleave(strings: readonly string[], values: readonly unknown[]): readonly (string | Value)[] {
  return strings.flatMap((text, index) => [text, ...(index < values.length ? inlined(values[index]) : [])])
}

function inlined(value: unknown): readonly (string | Value)[] {
  if (value instanceof Identifier) return [value.text]
  if (!(value instanceof Piece)) return [new Value()]
  value.used = true
  return value.parts
}

function numbered(parts: readonly (string | Value)[]): string {
  let n = 0
  return parts.map((part) => (typeof part === 'string' ? part : `$${++n}`)).join('')
}
