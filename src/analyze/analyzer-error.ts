/** The failure of an analyser or summariser that asks a server. */

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
