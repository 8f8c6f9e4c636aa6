/**
 * The largest bodies that an operation accepts. Each kind is expensive in its own way: many values, many different
 * names, many texts, or much text. A body is within the documented limits, or is refused by the limit that it targets.
 */
import { MAX_VALUES } from '../../../src/http/parse-body.ts'

export interface HostileBody {
  readonly name: string
  readonly text: string
}

const inBase36 = (index: number) => index.toString(36)

/** A piece that is repeated to fill a body. `values` is what one piece counts against the limit. */
const KINDS: readonly {
  readonly name: string
  readonly open: string
  readonly close: string
  readonly values: number
  readonly piece: (index: number) => string
}[] = [
  { name: 'empty lists', open: '[', close: ']', values: 1, piece: () => '[]' },
  {
    name: 'different names',
    open: '{',
    close: '}',
    values: 1,
    piece: (index) => `"${inBase36(index)}":0`,
  },
  {
    name: 'objects of different names',
    open: '[',
    close: ']',
    values: 2,
    piece: (index) => `{"${inBase36(index)}":0}`,
  },
  { name: 'different texts', open: '[', close: ']', values: 1, piece: (index) => `"${inBase36(index)}"` },
  { name: 'numbers', open: '[', close: ']', values: 0, piece: () => '0' },
]

/** A JSON value of that kind with at most this many bytes and values. */
export function filler(name: string, bytes: number, values = MAX_VALUES - 1_000): string {
  const kind = KINDS.find((one) => one.name === name)
  if (kind === undefined) throw new Error(`no such kind: ${name}`)
  const pieces: string[] = []
  let size = 2
  for (let index = 0; ; index++) {
    const piece = kind.piece(index)
    size += piece.length + 1
    if (size > bytes || (index + 1) * kind.values > values) break
    pieces.push(piece)
  }
  return `${kind.open}${pieces.join(',')}${kind.close}`
}

/** The operation's example with one unknown member, once for each kind, as large as the operation accepts. */
export function hostileBodies(example: unknown, maxBytes: number): readonly HostileBody[] {
  const head = JSON.stringify(example ?? {}).slice(0, -1)
  const start = `${head}${head === '{' ? '' : ','}"unknown":`
  const room = maxBytes - Buffer.byteLength(start) - 1
  const wrapped = (value: string) => `${start}${value}}`
  return [
    ...KINDS.map(({ name }) => ({ name, text: wrapped(filler(name, room)) })),
    // One more than the limit: refused before parsing.
    { name: 'too many lists', text: wrapped(filler('empty lists', room, Number.POSITIVE_INFINITY)) },
    { name: 'one text', text: wrapped(`"${'a\\n'.repeat(Math.floor((room - 2) / 3))}"`) },
    { name: 'white space', text: `${head}}`.padEnd(maxBytes, ' ') },
    { name: 'nested lists', text: '['.repeat(maxBytes) },
  ]
}
