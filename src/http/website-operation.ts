/**
 * The declaration of one website operation. It differs from `Operation`: there is no authentication, requests are
 * counted per client address, and errors are problem details (specification, "Website API").
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import type { Operation } from './operation.ts'

/** The limit that a request counts against (specification, "Limits"). */
export type WebsiteLimit = 'reads' | 'assistant' | 'forms'

export interface WebsiteOperation<B extends TSchema = TSchema, Q extends TObject = TObject>
  extends Omit<Operation<'public', B, Q>, 'access' | 'tag' | 'limit' | 'maxBodyBytes'> {
  readonly limit: WebsiteLimit
}

/** Keeps the types of one declaration while it is put into a list with others. */
export function websiteOperation<B extends TSchema = TSchema, Q extends TObject = TObject>(
  declaration: WebsiteOperation<B, Q>,
): WebsiteOperation {
  // As with `operation`: the router calls the handler only with the schemas of the same declaration.
  return declaration as unknown as WebsiteOperation
}

/** Maximum bytes of the body of a website operation. */
const MAX_BODY_BYTES = 64 * 1024

/** The same declaration as an `Operation`, for code that both kinds share: reading requests and documentation. */
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
