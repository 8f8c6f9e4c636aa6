/**
 * How many tokens of the model server an organization may use in a day (UTC), so that one organization's conversations cannot cost the
 * operator without limit. All processes share the count.
 *
 * Tokens are taken before a request, by an estimate, and corrected by what the server reports. So organizations stay below their limit
 * however many requests run at once, except for what estimates are too low.
 */
import type { Config } from '../../kernel/config.ts'
import type { Query } from '../../platform/db/pool.ts'
import { AnalyzerError } from './analyzer-error.ts'
import * as store from './token-budget.store.ts'

export interface TokenBudget {
  /**
   * Takes tokens of today.
   * @param share part of the day's tokens that this work may reach, from 0 to 1
   * @returns false if the day's tokens do not suffice; then none are taken
   */
  take(organization: string, tokens: number, share?: number): Promise<boolean>
  /** Corrects what was taken today. */
  correct(organization: string, taken: number, used: number): Promise<void>
  /** Organizations that have used at least this share of today's tokens. */
  spent(share: number): Promise<readonly string[]>
}

/** About the tokens of a request of so many bytes and of its answer of the greatest length. A token has three bytes or more. */
export const tokensOf = (bytes: number, answer: number): number => Math.ceil(bytes / 3) + answer

interface Taken {
  readonly organization: string
  /** An estimate. */
  readonly tokens: number
  readonly share?: number
}

/**
 * Takes tokens for `work`, and corrects them by those that it reports. Work that fails keeps what was taken for it: nobody knows what the
 * server has spent, except of one that is away.
 * @returns null if the day's tokens do not suffice; then the work is not begun
 */
export async function withTokens<T>(
  budget: TokenBudget,
  { organization, tokens, share }: Taken,
  work: (onTokens: (used: number) => void) => Promise<T>,
): Promise<T | null> {
  if (!(await budget.take(organization, tokens, share))) return null
  let used = 0
  let isKnown = false
  try {
    const result = await work((more) => {
      used += more
    })
    isKnown = used > 0
    return result
  } catch (error) {
    isKnown = error instanceof AnalyzerError && error.putOffMs !== null
    throw error
  } finally {
    if (isKnown) await budget.correct(organization, tokens, used)
  }
}

/** Each organization may use any number of tokens. */
export const NO_TOKEN_LIMIT: TokenBudget = {
  take: async () => true,
  correct: async () => {},
  spent: async () => [],
}

/** The budget of the settings. */
export function createTokenBudget(sql: Query, config: Pick<Config, 'analyzeTokensPerDay'>): TokenBudget {
  const limit = config.analyzeTokensPerDay
  if (limit === 0) return NO_TOKEN_LIMIT
  return {
    take: (organization, tokens, share = 1) =>
      store.take(sql, organization, tokens, Math.floor(limit * share)),
    async correct(organization, taken, used) {
      if (used !== taken) await store.change(sql, organization, used - taken)
    },
    spent: (share) => store.findSpent(sql, Math.floor(limit * share)),
  }
}
