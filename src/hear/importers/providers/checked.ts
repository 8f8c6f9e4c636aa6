import type { Static, TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import { SourceError } from './http.ts'

/** An answer of the expected shape. @throws SourceError */
export function checked<S extends TSchema>(check: TypeCheck<S>, value: unknown): Static<S> {
  if (check.Check(value)) return value
  throw new SourceError('unexpected_answer')
}
