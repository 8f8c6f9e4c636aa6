/** Messages to the actors of imports of feedback. The actor's key has the id of the import, which is that of its upload. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const feedbackImportMessages = declareActor('feedback-import', 'media', {
  /** The last byte of the file is stored: read its head. */
  inspect: Type.Object({}),
  /** The columns are mapped: import the rows. */
  run: Type.Object({}),
})
