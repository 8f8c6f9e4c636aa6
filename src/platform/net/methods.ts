/** Responses to methods that a path does not support (RFC 9110, section 15.5.6). */
import { AppError } from '../errors.ts'

/** 405 `method_not_allowed`; `allow` lists the methods of the path. */
export function methodNotAllowed(method: string, allow: string): AppError {
  return new AppError('method_not_allowed', `${method} is not allowed here. Allowed: ${allow}.`, {
    headers: { allow },
  })
}

export const READ_METHODS: readonly string[] = ['GET', 'HEAD']

/** Handles all other methods of a read-only path. */
export function readOnly({ request }: { readonly request: Request }): never {
  throw methodNotAllowed(request.method, READ_METHODS.join(', '))
}
