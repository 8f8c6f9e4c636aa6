/** Names that callers give to things: stored trimmed, 1 to 255 Unicode code points (specification, "Limits"). */
import { AppError } from '../errors.ts'

export const MAX_NAME = 255

/** The trimmed name. `path` is its place in the body. @throws AppError 400 if it is blank or too long */
export function nameOf(path: string, text: string): string {
  const name = text.trim()
  // A code point has at most two code units, so a text of more than twice the limit is too long without a count.
  if (name !== '' && name.length <= 2 * MAX_NAME && [...name].length <= MAX_NAME) return name
  const message = `must have 1 to ${MAX_NAME} characters after trimming`
  throw new AppError('validation_failed', `${path}: ${message}`, {
    details: [{ path, code: 'length', message }],
  })
}
