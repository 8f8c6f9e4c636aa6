/** The arc of a conversation: how it began, and the last words of both sides before closings and farewells. Pure; bounded. */
import type { Said } from '../insight.ts'
import { mask } from './mask.rules.ts'
import { withoutRitual } from './ritual.rules.ts'

/** Messages that are read: the first ones and the last ones. */
const MAX_FIRST = 5
const MAX_LAST = 40

/** Without closings, farewells and bare thanks; empty where there is nothing else. */
export interface Arc {
  /** The customer's first words, if they said more later. */
  readonly first: string
  /** The customer's words before the last ones. */
  readonly earlier: string
  /** The customer's last words. */
  readonly last: string
  /** What the company said before these … */
  readonly before: string
  /** … and after them. */
  readonly after: string
  /** True if the customer thanked with the last words or after them. */
  readonly isThankful: boolean
  /** True if the customer thanked for what was said after the last words. */
  readonly isThankfulAfter: boolean
  readonly isClosing: boolean
  /** Turns of the customer that say something. */
  readonly turns: number
}

interface Turn {
  readonly own: boolean
  text: string
  isThankful: boolean
  isClosing: boolean
}

export function arcOf(said: readonly Said[]): Arc {
  const turns = turnsOf(
    said.length <= MAX_FIRST + MAX_LAST ? said : [...said.slice(0, MAX_FIRST), ...said.slice(-MAX_LAST)],
  )
  const spoken = turns.flatMap((turn, index) => (turn.own || turn.text === '' ? [] : [index]))
  const place = spoken.at(-1) ?? turns.findIndex(({ own }) => !own)
  const textAt = (index: number | undefined) => (index === undefined ? '' : (turns[index]?.text ?? ''))
  const from = Math.max(0, place)
  const end = turns.slice(from)
  return {
    first: spoken.length > 1 ? textAt(spoken[0]) : '',
    earlier: spoken.length > 2 ? textAt(spoken.at(-2)) : '',
    last: textAt(spoken.at(-1)),
    before: turns.slice(0, from).findLast(({ own, text }) => own && text !== '')?.text ?? '',
    after: end
      .filter(({ own, text }) => own && text !== '')
      .map(({ text }) => text)
      .join(' '),
    isThankful: end.some(({ own, isThankful }) => !own && isThankful),
    isThankfulAfter: end.slice(1).some(({ own, isThankful }) => !own && isThankful),
    isClosing: end.some(({ isClosing }) => isClosing),
    turns: spoken.length,
  }
}

/** Messages of one side behind each other are one turn. */
function turnsOf(said: readonly Said[]): readonly Turn[] {
  const turns: Turn[] = []
  for (const { own, text } of said) {
    const plain = withoutRitual(mask(text))
    const turn = turns.at(-1)
    if (turn === undefined || turn.own !== own) turns.push({ own, ...plain })
    else {
      turn.text = `${turn.text} ${plain.text}`.trim()
      turn.isThankful ||= plain.isThankful
      turn.isClosing ||= plain.isClosing
    }
  }
  return turns
}
