/** Shapes of verdicts about findings, and of the precision that follows from them. */
import { type Static, Type } from '@sinclair/typebox'
import { KINDS, TIERS } from '../../../analysis/analyze/insight.ts'
import { VERDICTS } from '../../../analysis/findings/verdict.rules.ts'
import { CHANNELS } from '../../../kernel/channel.ts'
import { count, described, named, oneOf, orNull } from '../../../platform/validation/schema.ts'
import { Signal } from './signal.model.ts'

export const JudgeSignal = Type.Object(
  {
    verdict: oneOf(VERDICTS, '`right`: the customer says it; `wrong`: the customer does not.'),
    kind: Type.Optional(
      oneOf(KINDS, 'With `wrong`: the kind that the finding really is. Absent: it is none.'),
    ),
  },
  { additionalProperties: false },
)
export type JudgeSignal = Static<typeof JudgeSignal>

const part = (description: string) => orNull(Type.Number({ minimum: 0, maximum: 1 }), description)

const Precision = named(
  'FindingPrecision',
  Type.Object({
    tier: oneOf(
      TIERS,
      'How the findings were made. `sure`: by rules; `likely`: by the trained head; `model`: by a model server.',
    ),
    channel: oneOf(CHANNELS, 'Where they were said.'),
    shown: Type.Boolean({ description: 'Whether findings of this sort are in lists, counts and webhooks.' }),
    source: oneOf(
      ['shipped', 'own'],
      'What decides. `shipped`: the figures that the product was measured with; `own`: the verdicts of the organization.',
    ),
    judged: count('Findings that were judged, of this source. 0: none was measured.'),
    right: count('Of these, the ones that were right.'),
    precision: part('`right` of `judged`; null if none was judged.'),
    lowerBound: part(
      'The true precision is above this in 9 of 10 such measurements; null if none was judged.',
    ),
    verdictsNeeded: count('Verdicts that are missing before those of the organization decide.'),
  }),
)

export const JudgedSignal = named(
  'JudgedSignal',
  Type.Object({
    verdict: oneOf(VERDICTS, 'The verdict.'),
    kind: oneOf(KINDS, 'The kind that the analyser found.'),
    meantKind: orNull(oneOf(KINDS), 'The kind that it really is; null: it was right, or is none.'),
    signal: orNull(Signal, 'The finding as it is listed now; null if it is not.'),
    precision: described(
      Precision,
      'The precision of the kind that was found, on this channel, with the verdict.',
    ),
  }),
)

export const PrecisionQuery = Type.Object({
  language: Type.Optional(
    Type.String({
      pattern: '^[a-z]{2}$',
      words: 'an ISO 639-1 code such as en',
      description: 'Of findings in this language: an ISO 639-1 code. Default: `en`.',
    }),
  ),
})

export const PrecisionPage = named(
  'PrecisionOfKinds',
  Type.Object({
    analyzer: Type.Object(
      {
        name: Type.String({
          description: '`builtin`, or the model of the configured server.',
          examples: ['builtin'],
        }),
        version: Type.String({ description: 'Its version. Verdicts about other versions do not count.' }),
      },
      { description: 'The analyser that runs now.' },
    ),
    language: Type.String({ description: 'The language.', examples: ['en'] }),
    data: Type.Array(
      Type.Object({
        kind: oneOf(KINDS, 'The kind.'),
        shown: Type.Boolean({ description: 'Whether any findings of this kind are shown.' }),
        sorts: Type.Array(Precision, { description: 'By tier and channel.' }),
      }),
      { description: 'Every kind.' },
    ),
  }),
)
