/** The failure of an analyser or summariser that asks a server. */

/** The message names the problem without content. */
export class AnalyzerError extends Error {
  override readonly name = 'AnalyzerError'

  constructor(
    message: string,
    /** A retry may succeed. */
    readonly retryable: boolean,
    options?: ErrorOptions,
    /** The question has more tokens than the context of the model. A shorter one may succeed. */
    readonly isTooLong = false,
    /** The server is away: the milliseconds after which to ask again (`putOffMsOf` of the actors). Otherwise null. */
    readonly putOffMs: number | null = null,
  ) {
    super(message, options)
  }
}
