/**
 * Makes the tokens of each request from the totals that Codex writes. Pure, apart from its own state.
 *
 * A total is repeated without growth, arrives late with a lower number, and begins anew after some errors. Newer versions also
 * write the tokens of each answer; the totals beside them say nothing more.
 */
import { NO_USAGE, type Usage } from './event.rules.ts'
import { isNothing } from './open-event.rules.ts'

export interface Total {
  /** null: the tokens of one answer. */
  readonly total: Usage | null
  readonly last: Usage | null
  /** The total is copied from another thread. */
  readonly isInherited: boolean
}

export interface Counted {
  readonly usage: Usage
  /** The total that the usage leads to. */
  readonly total: Usage
}

export class Totals {
  #total: Usage = NO_USAGE
  #isInherited = false
  /** A lower total that was not counted. If the next one continues it, the totals have begun anew. */
  #lower: Counted | null = null
  #turn = 0
  #countedTurn = 0
  #hasAnswered = false
  #hasRecords = false
  #counted: Usage | null = null

  /** A turn begins. */
  turn(): void {
    this.#turn++
    this.#hasAnswered = false
  }

  /** The model has answered in this turn. */
  answer(): void {
    this.#hasAnswered = true
  }

  /** null: nothing new is said. */
  count({ total, last, isInherited }: Total): Counted | null {
    const isRecord = total === null
    const next = total ?? sum(this.#total, last ?? NO_USAGE)
    const usage = isRecord ? this.#usageOfRecord(last ?? NO_USAGE) : this.#usageOf(next, last, isInherited)
    if (isRecord) this.#hasRecords = true
    else if (this.#hasRecords) {
      this.#total = next
      return null
    }
    if (usage === null || isNothing(usage)) return null
    this.#total = next
    this.#isInherited = isInherited
    this.#lower = null
    this.#countedTurn = this.#turn
    this.#hasAnswered = false
    this.#counted = usage
    return { usage, total: next }
  }

  /** The first record may come after the total that was counted already. */
  #usageOfRecord(last: Usage): Usage | null {
    const isCounted =
      !this.#hasRecords &&
      !this.#hasAnswered &&
      this.#counted !== null &&
      isNothing(difference(last, this.#counted))
    return isCounted ? null : last
  }

  #usageOf(next: Usage, last: Usage | null, isInherited: boolean): Usage | null {
    const growth = difference(next, this.#total)
    const isFirst = last !== null && isNothing(difference(next, last))
    if (isNothing(growth)) {
      // The first answer of totals that have begun anew may use as much as the first one before.
      const isAnother = isFirst && this.#hasAnswered && this.#turn > this.#countedTurn
      return isAnother ? last : null
    }
    if (!isNegative(growth)) return growth
    if (isFirst || (this.#isInherited && !isInherited)) return last ?? next
    const lower = this.#lower
    this.#lower = { total: next, usage: last ?? next }
    if (lower === null) return null
    const since = difference(next, lower.total)
    const isContinued = last === null ? !isNegative(since) : isNothing(difference(since, last))
    return isContinued ? sum(lower.usage, since) : null
  }
}

function combine(one: Usage, other: Usage, sign: 1 | -1): Usage {
  return {
    inputTokens: one.inputTokens + sign * other.inputTokens,
    outputTokens: one.outputTokens + sign * other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + sign * other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + sign * other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + sign * other.reasoningTokens,
  }
}

const sum = (one: Usage, other: Usage) => combine(one, other, 1)
const difference = (one: Usage, other: Usage) => combine(one, other, -1)

const isNegative = (usage: Usage) => Object.values(usage).some((tokens) => tokens < 0)
