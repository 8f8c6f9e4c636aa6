/** Methods that a path does not have (RFC 9110, section 15.5.6). */
import { AppError } from '../errors.ts'

/** 405 `method_not_allowed`; `allow` lists the methods of the path. */
export function methodNotAllowed(method: string, allow: string): AppError {
  return new AppError('method_not_allowed', `${method} is not allowed here. Allowed: ${allow}.`, {
    headers: { allow },
  })
}

export const READ_METHODS: readonly string[] = ['GET', 'HEAD']

/** A handler for every other method of a path that can only be read. */
export function readOnly({ request }: { readonly request: Request }): never {
  throw methodNotAllowed(request.method, READ_METHODS.join(', '))
}
