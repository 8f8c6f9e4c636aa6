/** Messages to the actor that keeps the themes of an organization. The key has the id of the organization. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

const id = Type.String({ format: 'uuid' })

export const themesMessages = declareActor('themes', 'background', {
  /** Findings of subjects are new or changed. */
  assign: Type.Object({}),
  /** Findings were deleted. */
  forget: Type.Object({}),
  /** The items without a theme may make new themes. */
  link: Type.Object({}),
  /** The theme was merged into another: its items move there. */
  merge: Type.Object({ themeId: id }),
  /** Items that are nearer to the second of two items move to a new theme. `after`: the last item that was looked at. */
  split: Type.Object({
    themeId: id,
    newThemeId: id,
    items: Type.Tuple([Type.Integer(), Type.Integer()]),
    after: Type.Union([Type.Null(), Type.Tuple([Type.String(), Type.Integer()])]),
  }),
  /** The theme may need another title. */
  retitle: Type.Object({ themeId: id }),
})
