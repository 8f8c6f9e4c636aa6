/**
 * A failure to start that the operator can fix. It is shown as one line without a stack. Its message names the problem, the place and
 * the remedy, and never contains a credential.
 */
import { certificateRemedy } from '../net/certificate.rules.ts'
import { joinLines } from '../validation/trim.ts'

/** Thrown before the service answers requests. Other errors at the start are shown with their stack. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Any thrown value as one line of text, with the remedy for a certificate that is not accepted. */
export function oneLine(error: unknown): string {
  // If every address of a host refuses the connection, only the inner errors have a message.
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0)
    return oneLine(error.errors[0])
  const text = error instanceof Error ? error.message || error.name : String(error)
  const remedy = certificateRemedy(error)
  return [joinLines(text).trim(), ...(remedy === null || text.includes(remedy) ? [] : [remedy])].join(': ')
}
