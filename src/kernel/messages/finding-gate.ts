/** Messages to the actor that follows the gate of an organization. The key has the id of the organization. */
import { Type } from '@sinclair/typebox'
import { declareActor } from '../../actors/declaration.ts'

export const findingGateMessages = declareActor('finding_gate', 'long', {
  /** Verdicts have changed whether findings of this sort are shown. */
  follow: Type.Object({
    kind: Type.String(),
    tier: Type.String(),
    language: Type.Union([Type.String(), Type.Null()]),
    analyzerName: Type.String(),
    analyzerVersion: Type.String(),
    /** Goes on after this finding. */
    after: Type.Optional(Type.Tuple([Type.String(), Type.String()])),
  }),
})
