/** The failure of an analysis or summary by a model server. */

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
