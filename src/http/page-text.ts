/**
 * The JSON of answers. `JSON.stringify` of a whole list may take hundreds of milliseconds, in which a process answers nobody else. So a
 * list is written item by item, and a long one is sent in pieces, between which other requests have their turn.
 */
import { setImmediate as othersFirst } from 'node:timers/promises'

/** Characters up to which an answer is one text: about a millisecond of work. */
const ONE_TEXT = 1024 * 1024
/** Characters of a piece, at least. */
const PIECE = 256 * 1024

interface List {
  readonly data: readonly unknown[]
}

const isList = (body: unknown): body is List =>
  typeof body === 'object' && body !== null && 'data' in body && Array.isArray(body.data)

/** A body that is JSON text already, such as one that PostgreSQL has written. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** The JSON text of `body`; in pieces where it is a long list. */
export function jsonOf(body: unknown): string | ReadableStream<Uint8Array> {
  if (body instanceof JsonText) return body.text
  if (!isList(body)) return JSON.stringify(body)
  const pieces = piecesOf(body, ONE_TEXT)
  const first = pieces.next()
  const second = pieces.next()
  if (second.done === true) return first.value ?? ''
  return inPieces(first.value ?? '', second.value, pieces)
}

/** The text of a list, in pieces of at least `PIECE` characters; the first of at least `firstLength`. */
function* piecesOf({ data, ...rest }: List, firstLength: number): Generator<string, undefined> {
  let text = '{"data":['
  let least = firstLength
  for (const [index, item] of data.entries()) {
    if (text.length > least) {
      yield text
      text = ''
      least = PIECE
    }
    text += `${index === 0 ? '' : ','}${JSON.stringify(item)}`
  }
  const members = JSON.stringify(rest).slice(1)
  yield `${text}]${members === '}' ? '' : ','}${members}`
}

function inPieces(first: string, second: string, rest: Generator<string, undefined>) {
  const encoder = new TextEncoder()
  const ready = [first, second]
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await othersFirst()
      const piece = ready.shift() ?? rest.next().value
      if (piece === undefined) controller.close()
      else controller.enqueue(encoder.encode(piece))
    },
  })
}
