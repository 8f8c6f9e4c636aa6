/**
 * Summaries of transcripts.
 *
 * The rule: a summariser has no side effect but its own I/O, never logs content, and gives plain text of one paragraph that can be
 * stored and listed as it is.
 */

/** Code points of a summary. */
export const MAX_SUMMARY = 600

/** What one speaker said in one go. */
export interface Passage {
  readonly speaker: number
  readonly text: string
}

export interface Summarizer {
  readonly name: string
  /**
   * A few sentences about passages that stand in the order in which they were said; null where they say nothing.
   * @param signal ends all work when aborted; the promise then rejects.
   * @param organization whose transcript it is; the service's own where absent.
   * @throws AnalyzerError where the engine did not give a usable answer.
   */
  summarize(passages: readonly Passage[], signal: AbortSignal, organization?: string): Promise<string | null>
}
