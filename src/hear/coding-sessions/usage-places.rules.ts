/**
 * Names the tokens of a request to the model by their place: the turn, and how many came before in it. Their number does not name them, because
 * totals begin anew and reach a number again. Pure, apart from its own state.
 */
import { remember } from './occurrences.rules.ts'

/** Turns, and answers of one turn, that are remembered. */
const MAX_TURNS = 1_000
const MAX_ANSWERS = 10_000

interface Turn {
  count: number
  readonly answers: Set<string>
}

export class UsagePlaces {
  readonly #turns = new Map<string, Turn>()
  #turn = 'start'
  #hasIds = false
  #messages = 0

  /** The agent gives ids to its turns. */
  beginTurn(id: string): void {
    this.#hasIds = true
    this.#turn = `turn ${id}`
  }

  /** Older versions give none: there, each message of the user begins a turn. */
  message(): void {
    this.#messages++
    if (!this.#hasIds) this.#turn = `message ${this.#messages}`
  }

  /** @param answer the tokens of one answer, which are written once; null: of any @returns null for an answer that has come in this turn */
  next(answer: string | null): string | null {
    const turn = this.#turns.get(this.#turn) ?? { count: 0, answers: new Set<string>() }
    remember(this.#turns, this.#turn, turn, MAX_TURNS)
    if (answer !== null) {
      if (turn.answers.has(answer)) return null
      if (turn.answers.size < MAX_ANSWERS) turn.answers.add(answer)
    }
    turn.count++
    return `usage ${turn.count} of ${this.#turn}`
  }
}
