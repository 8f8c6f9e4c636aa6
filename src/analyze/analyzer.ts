/**
 * What an analyser of agent conversations is given and gives back.
 *
 * The rule: an analyser has no side effect but its own I/O and never logs content. It may be asked about the same
 * exchange again, when a response was revised or its reader said more, and then its new findings replace the old ones.
 */
import type { Rating } from '../agents/model.ts'

/** One assistant response with what its reader said around it. Texts are plain and bounded (see text.ts). */
export interface Exchange {
  /** `externalEventId` of the response. */
  readonly eventId: string
  /** The last user message before the response. */
  readonly question: string | null
  readonly answer: string
  /** User messages after the response, up to the next response. */
  readonly followUps: readonly string[]
}

/** Kinds of qualitative signals: what a response's reader thought, got, lacked, or had to ask again. */
export const FINDING_KINDS = ['user_sentiment', 'resolved', 'unresolved', 'repeated_question'] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

/** At most one finding of a kind for an exchange. */
export interface Finding {
  readonly eventId: string
  readonly kind: FindingKind
  readonly rating: Rating | null
  /** A short quotation of what the finding was read from. */
  readonly comment: string | null
}

/** Exchanges in the order of their conversation. */
export interface Conversation {
  readonly exchanges: readonly Exchange[]
  /** Whose they are; the service's own where absent. */
  readonly organization?: string | undefined
}

export interface Analyzer {
  readonly name: string
  /**
   * Findings about the given exchanges, which stand in the order of their conversation.
   * @param signal ends all I/O when aborted; the promise then rejects.
   * @param organization whose exchanges they are; the service's own where absent.
   * @throws AnalyzerError where the engine did not give a usable answer.
   */
  analyze(
    exchanges: readonly Exchange[],
    signal: AbortSignal,
    organization?: string,
  ): Promise<readonly Finding[]>
  /**
   * As `analyze`, for many conversations at once. Absent where each costs a request of its own.
   * @returns the findings of each conversation, in the order given.
   */
  analyzeMany?(
    conversations: readonly Conversation[],
    signal: AbortSignal,
  ): Promise<readonly (readonly Finding[])[]>
  /** It never looks at `answer`, which may then be empty. */
  readonly ignoresAnswers?: true
}

/** The message says what went wrong without any content. `retryable`: the same question may be answered later. */
export class AnalyzerError extends Error {
  override readonly name = 'AnalyzerError'

  constructor(
    message: string,
    readonly retryable: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
