/** The shape of `analysis` in sessions, feedback records and recordings. */
import { Type } from '@sinclair/typebox'
import { named, oneOf, orNull } from '../../platform/validation/schema.ts'
import { OUTCOME_BASES } from './basis.rules.ts'
import { READ_STATES, UNREAD_REASONS } from './coverage.rules.ts'

export const AnalysisShape = named(
  'Analysis',
  Type.Object(
    {
      state: oneOf(
        READ_STATES,
        '`read`: analysed; `waiting`: not yet; `not_read`: it was not, or not to its end.',
      ),
      reason: orNull(
        oneOf(
          UNREAD_REASONS,
          '`language`: in a language that is not analysed; `no_words`: the customer said nothing, or there is no transcript; ' +
            '`capture_disabled`: content is not stored; `billing`: credits are missing.',
        ),
        'Why it was not read. Null otherwise, and where the analysis failed.',
      ),
      analyzer: orNull(
        Type.String({ examples: ['builtin'] }),
        'Name of the analyser that read it last; null: none yet.',
      ),
      version: orNull(Type.String({ examples: ['8'] }), 'Version of that analyser.'),
    },
    {
      description:
        'Whether it was read, and why not. What was not read has no findings, which does not mean that nothing is there.',
    },
  ),
)

export const OutcomeBasisShape = orNull(
  oneOf(
    OUTCOME_BASES,
    '`stated`: a shown finding quotes words of the customer that say it; `inferred`: the analysis infers it.',
  ),
  'What the outcome rests on; null: there is none, or it is `unclear`.',
)
