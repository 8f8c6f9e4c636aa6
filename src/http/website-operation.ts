/**
 * What one operation of the website API is. Like `Operation`, from which it differs in that nobody signs in, that requests
 * are counted for the client's address, and that errors are problem details (specification, "Website API").
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import type { Operation } from './operation.ts'

/** Which limit a request counts against (specification, "Limits"). */
export type WebsiteLimit = 'reads' | 'assistant' | 'forms'

export interface WebsiteOperation<B extends TSchema = TSchema, Q extends TObject = TObject>
  extends Omit<Operation<'public', B, Q>, 'access' | 'tag' | 'limit' | 'maxBodyBytes'> {
  readonly limit: WebsiteLimit
}

/** Keeps the types of one declaration while it is put into a list with others. */
export function websiteOperation<B extends TSchema = TSchema, Q extends TObject = TObject>(
  declaration: WebsiteOperation<B, Q>,
): WebsiteOperation {
  // As with `operation`: the router only ever calls the handler with the schemas of the same declaration.
  return declaration as unknown as WebsiteOperation
}

/** Bytes of a body of any website operation. */
const MAX_BODY_BYTES = 64 * 1024

/** The same as an operation among all others, for what both kinds share: reading requests and documentation. */
export function asOperation(operation: WebsiteOperation): Operation {
  const { limit: _, errors = [], ...rest } = operation
  return {
    ...rest,
    access: 'public',
    tag: 'Website',
    maxBodyBytes: MAX_BODY_BYTES,
    errors: [...errors, 'unsupported_api_version', 'method_not_allowed'],
  } as Operation
}
