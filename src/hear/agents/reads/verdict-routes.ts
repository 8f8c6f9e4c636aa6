/** The operations of verdicts: judge a finding, and read what verdicts decide. */

import { recorded } from '../../../access/audit/change.ts'
import { MARGIN, MIN_VERDICTS, REQUIRED_RANGE } from '../../../analysis/analyze/gate.rules.ts'
import type { Judged, Verdicts } from '../../../analysis/findings/verdicts.ts'
import { type Operation, ok, operation } from '../../../http/operation.ts'
import { uuidOf } from '../../../http/parameters.ts'
import type { SignalResource } from './signals.rules.ts'
import { JudgedSignal, JudgeSignal, PrecisionPage, PrecisionQuery } from './verdict-model.ts'

export function verdictOperations(verdicts: Verdicts<SignalResource>): readonly Operation[] {
  return [
    operation({
      id: 'judgeSignal',
      method: 'PATCH',
      path: '/v3/rest/signals/{signalId}',
      params: { signalId: uuidOf('signal') },
      tag: 'Signals',
      summary: 'Correct a finding',
      description:
        'Says whether a finding is right, and it applies at once: a wrong finding is no longer listed, or takes the `kind` that was meant. ' +
        `The verdict outlasts another analysis. Another verdict about the same finding replaces it. From ${MIN_VERDICTS} verdicts on, the precision of ` +
        'the organization decides whether findings of this kind and tier are shown to it; the rest follows in the background.',
      access: 'organizationOrUser',
      role: 'analyst',
      body: JudgeSignal,
      example: { verdict: 'wrong', kind: 'question' },
      success: {
        status: 200,
        description: 'The verdict, and the precision of the kind',
        schema: JudgedSignal,
      },
      errors: ['agent_signal_not_found', 'signal_not_correctable'],
      async handler(call) {
        const id = call.id('signalId', 'agent_signal_not_found')
        const also = recorded<Judged<SignalResource>>(
          call,
          'signal.judged',
          ({ signalId }) => signalId,
          ({ kind, verdict, meantKind }) => ({ kind, verdict, meantKind }),
        )
        const { signalId: _, ...judged } = await verdicts.judge(call.principal, id, await call.body(), also)
        return ok(judged)
      },
    }),
    operation({
      id: 'getFindingPrecision',
      method: 'GET',
      path: '/v3/rest/insights/precision',
      tag: 'Signals',
      summary: 'Read how precise findings are',
      description:
        `For each kind, by tier and channel: whether its findings are shown, and why. A kind is shown if at least ${REQUIRED_RANGE[0] * 100} to ${REQUIRED_RANGE[1] * 100} of 100 judged findings ` +
        `were right, by kind and channel, with a lower bound (one-sided, 90 %) of at most ${MARGIN.toFixed(2)} less. A kind that is not shown needs more verdicts, or a model server.`,
      access: 'organizationOrUser',
      role: 'viewer',
      query: PrecisionQuery,
      success: { status: 200, description: 'The precision of each kind', schema: PrecisionPage },
      async handler({ principal, query }) {
        const { language = 'en' } = query()
        return ok(await verdicts.precision(principal.organizationId, language))
      },
    }),
  ]
}
