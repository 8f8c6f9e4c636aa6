/** The pieces of a subject that the trained head reads: its clauses. Pure; bounded. */
import type { Channel } from '../../insight/model.ts'
import { KINDS } from '../insight.ts'
import type { Cues } from './cues/cues.ts'
import { isPoliteOnly, isSarcastic } from './cues/turns.ts'
import { formOf, hasCue } from './features.rules.ts'
import type { Message, Reading } from './reading.rules.ts'

/** Embedding takes most of the time of an analysis, in proportion to the length of the pieces. */
const MAX_PIECES = 60
const MAX_READ = 750

export interface Piece {
  /** Number of the message in `said`. */
  readonly index: number
  readonly from: number
  readonly to: number
  /** Masked, lower case. */
  readonly text: string
  readonly form: Float32Array
  /** True if the company said something before it. */
  readonly isAnswered: boolean
  /** True if it follows a “but”. */
  readonly isContrast: boolean
  readonly isSarcastic: boolean
}

/** The pieces in the order of the subject. Of a long subject: the last message, the first, those with cues, and the newest. */
export function piecesOf({ channel, messages }: Reading, language: Cues): readonly Piece[] {
  const pieces = messages
    .filter(({ isTask, isPolite }) => !isTask && !isPolite)
    .flatMap((message) => piecesOfMessage(message, channel, language))
  const last = messages.at(-1)?.index
  const first = messages[0]?.index
  const urgency = ({ index, form }: Piece) =>
    (index === last ? 4 : 0) + (index === first ? 2 : 0) + (KINDS.some((kind) => hasCue(form, kind)) ? 1 : 0)
  const chosen = new Set<Piece>()
  const texts = new Set<string>()
  let left = MAX_READ
  for (const piece of pieces.toReversed().toSorted((a, b) => urgency(b) - urgency(a))) {
    const cost = texts.has(piece.text) ? 0 : piece.text.length
    if (chosen.size >= MAX_PIECES || cost > left) continue
    chosen.add(piece)
    texts.add(piece.text)
    left -= cost
  }
  return pieces.filter((piece) => chosen.has(piece))
}

function piecesOfMessage(
  { index, reply, clauses }: Message,
  channel: Channel,
  language: Cues,
): readonly Piece[] {
  return clauses
    .filter(({ text }) => !isPoliteOnly(text))
    .map((clause) => ({
      index,
      from: clause.from,
      to: clause.to,
      text: clause.text,
      form: formOf([clause], channel, language),
      isAnswered: reply !== null,
      isContrast: clause.contrast,
      isSarcastic: isSarcastic(clause.text),
    }))
}
