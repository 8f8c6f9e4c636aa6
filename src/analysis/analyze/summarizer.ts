/**
 * Summaries of transcripts.
 *
 * A summariser has no side effects besides its own I/O and never logs content. A summary is one paragraph of plain text that
 * can be stored and listed.
 */

/** Maximum length of a summary in code points. */
export const MAX_SUMMARY = 600

/** An uninterrupted passage of one speaker. */
export interface Passage {
  readonly speaker: number
  readonly text: string
}

export interface Summarizer {
  readonly name: string
  /**
   * Summarises passages, which are in the order of speaking, in a few sentences. Null if they contain nothing to summarise.
   * @param signal ends all work when aborted; the promise then rejects.
   * @param organization organization of the transcript. Absent: the service itself.
   * @throws AnalyzerError if the engine gives no usable answer.
   */
  summarize(passages: readonly Passage[], signal: AbortSignal, organization?: string): Promise<string | null>
}
