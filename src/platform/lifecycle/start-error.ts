/**
 * A reason not to start that the operator can do something about. It is shown as one line, without a stack, so its
 * message says what is wrong, where, and what to do; never a credential.
 */
import { joinLines } from '../validation/trim.ts'

export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Any thrown value as one line of text. */
export function oneLine(error: unknown): string {
  // Where every address of a host refuses, the reasons are inside and there is no message outside.
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0)
    return oneLine(error.errors[0])
  const text = error instanceof Error ? error.message || error.name : String(error)
  return joinLines(text).trim()
}
