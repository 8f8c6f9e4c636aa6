/** Messages to the actors of import sources. The actor's key has the id of the source. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const importSourceMessages = declareActor('import-source', 'outbound', {
  /** The source is due: read the next pages. */
  read: Type.Object({}),
})
