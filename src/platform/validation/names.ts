/** Names that callers give to things: stored trimmed, 1 to 255 Unicode code points (specification, "Limits"). */
import { AppError } from '../errors.ts'

export const MAX_NAME = 255

/** The name as it is stored. `path` is its place in the body. @throws AppError 400 where it is blank or too long */
export function nameOf(path: string, text: string): string {
  const name = text.trim()
  // A code point has at most two code units: what is longer than that needs no count.
  if (name !== '' && name.length <= 2 * MAX_NAME && [...name].length <= MAX_NAME) return name
  const message = `must have 1 to ${MAX_NAME} characters after trimming`
  throw new AppError('validation_failed', `${path}: ${message}`, {
    details: [{ path, code: 'length', message }],
  })
}
