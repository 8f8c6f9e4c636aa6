/**
 * The interface of an analyser of agent conversations.
 *
 * An analyser has no side effects besides its own I/O and never logs content. It may receive the same exchange again after a
 * response was revised or its reader wrote more. The new findings then replace the old ones.
 */
import type { FindingKind, Rating } from '../agents/model.ts'

/** One assistant response and its reader's messages around it. Texts are plain and bounded (see text.ts). */
export interface Exchange {
  /** `externalEventId` of the response. */
  readonly eventId: string
  /** The last user message before the response. */
  readonly question: string | null
  readonly answer: string
  /** User messages after the response, up to the next response. */
  readonly followUps: readonly string[]
}

/** An exchange has at most one finding of each kind. */
export interface Finding {
  readonly eventId: string
  readonly kind: FindingKind
  readonly rating: Rating | null
  /** A short quotation on which the finding is based. */
  readonly comment: string | null
}

/** Exchanges in the order of their conversation. */
export interface Conversation {
  readonly exchanges: readonly Exchange[]
  /** Organization of the exchanges. Absent: the service itself. */
  readonly organization?: string | undefined
}

export interface Analyzer {
  readonly name: string
  /**
   * Findings about exchanges, which are in the order of their conversation.
   * @param signal ends all I/O when aborted; the promise then rejects.
   * @param organization organization of the exchanges. Absent: the service itself.
   * @throws AnalyzerError if the engine gives no usable answer.
   */
  analyze(
    exchanges: readonly Exchange[],
    signal: AbortSignal,
    organization?: string,
  ): Promise<readonly Finding[]>
  /**
   * Like `analyze`, for many conversations at once. Absent if each conversation needs a request of its own.
   * @returns the findings of each conversation, in the order given.
   */
  analyzeMany?(
    conversations: readonly Conversation[],
    signal: AbortSignal,
  ): Promise<readonly (readonly Finding[])[]>
  /** True if the analyser never reads `answer`, which may then be empty. */
  readonly ignoresAnswers?: true
}

/** The message names the problem without content. `retryable`: a retry may succeed. */
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
