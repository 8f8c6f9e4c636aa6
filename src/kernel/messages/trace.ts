/** Messages to the actor of the traces of an application. Its key has the application's id. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const traceMessages = declareActor('trace', 'long', {
  /** Traces are complete: the actor makes their messages. */
  settle: Type.Object({}),
})
