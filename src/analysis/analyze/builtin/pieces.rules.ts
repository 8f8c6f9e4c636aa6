/** The pieces of a subject that the classifier reads: its clauses. Pure; bounded. */
import { isPoliteOnly } from './cues/turns.ts'
import type { Message, Reading } from './reading.rules.ts'

/** Of one subject. */
const MAX_PIECES = 120
/** UTF-16 code units of all pieces. */
const MAX_READ = 9_000

export interface Piece {
  /** Number of the message in `said`. */
  readonly index: number
  readonly from: number
  readonly to: number
  /** Masked, lower case. */
  readonly text: string
  /** True if the company said something before it. */
  readonly isAnswered: boolean
  /** True if it follows a “but”. */
  readonly isContrast: boolean
  /** True if its sentence ends with a question mark. */
  readonly isQuestion: boolean
}

/** The pieces in the order of the subject. Of a long subject those of the last message, of the first, and of the newest. */
export function piecesOf({ messages }: Reading): readonly Piece[] {
  const pieces = messages
    .filter(({ isTask, isPolite }) => !isTask && !isPolite)
    .flatMap((message) => piecesOfMessage(message))
  const [first, last] = [messages[0]?.index, messages.at(-1)?.index]
  const urgency = ({ index }: Piece) => (index === last ? 2 : 0) + (index === first ? 1 : 0)
  const chosen = new Set<Piece>()
  let left = MAX_READ
  for (const piece of pieces.toReversed().toSorted((a, b) => urgency(b) - urgency(a))) {
    if (chosen.size >= MAX_PIECES) break
    if (piece.text.length > left) continue
    chosen.add(piece)
    left -= piece.text.length
  }
  return pieces.filter((piece) => chosen.has(piece))
}

function piecesOfMessage({ index, reply, clauses }: Message): readonly Piece[] {
  return clauses
    .filter(({ text }) => !isPoliteOnly(text))
    .map(({ from, to, text, contrast, question }) => ({
      index,
      from,
      to,
      text,
      isAnswered: reply !== null,
      isContrast: contrast,
      isQuestion: question,
    }))
}
