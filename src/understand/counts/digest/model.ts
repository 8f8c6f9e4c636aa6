/** Shapes of `GET /v3/rest/insights/digest`. */
import { Type } from '@sinclair/typebox'
import { momentParameter } from '../../../http/parameters.ts'
import { CHANNELS } from '../../../kernel/channel.ts'
import { count, moment, named, oneOf, orNull, uuid } from '../../../platform/validation/schema.ts'
import { TimeZoneOfDays } from '../counts.model.ts'
import { MAX_DAYS } from '../counts.rules.ts'

const MAX_QUOTATIONS = 5
/** Newest signals among which quotations are looked for. */
export const EXAMINED = 20_000

export const DigestQuery = Type.Object({
  since: Type.Optional(
    momentParameter('From this day on; the whole day counts. Default: 7 days before `until`.'),
  ),
  until: Type.Optional(
    momentParameter(
      `Before this time; a day that has begun by then counts wholly. Default: yesterday is the last day. At most ${MAX_DAYS} days after \`since\`.`,
    ),
  ),
  quotations: Type.Integer({
    minimum: 0,
    maximum: MAX_QUOTATIONS,
    default: 3,
    description: `Quotations of each kind and area: 0 to ${MAX_QUOTATIONS}.`,
  }),
})

const pair = (what: string) =>
  Type.Object(
    { count: count('In the period.'), before: count('In the period before, which has as many days.') },
    { description: what },
  )

const Quotation = Type.Object({
  signalId: uuid('Id of the signal.'),
  channel: oneOf(CHANNELS, 'Where it was said.'),
  id: Type.String({ description: 'Id of the session, of the feedback record, or of the recording.' }),
  feedbackSourceId: orNull(
    Type.Integer({ minimum: 1 }),
    'Id of the feedback source; null on other channels.',
  ),
  quote: Type.String({ description: 'The words of the customer: at most 300 characters.' }),
  occurredAt: moment('When it was said, in UTC.'),
  startSec: orNull(Type.Number({ minimum: 0 }), 'Where it begins in the recording, in seconds.'),
  path: Type.String({ description: 'Where the REST API has more of it.' }),
})

const topics = (name: string, what: string) => {
  const list = (order: string) =>
    Type.Array(
      Type.Object({
        [name]: Type.String({ description: `The ${what}.` }),
        count: count('Signals in the period.'),
        before: count('Signals in the period before.'),
        quotations: Type.Array(Quotation, { description: 'Of the period, the newest first.' }),
      }),
      { description: `${order} At most five, that changed by more than chance.` },
    )
  return Type.Object(
    { grew: list('The largest growth first.'), fell: list('The largest loss first.') },
    { description: `By ${what}.` },
  )
}

export const DigestAnswer = named(
  'Digest',
  Type.Object({
    timeZone: TimeZoneOfDays,
    since: moment('The first day begins here, in UTC.'),
    until: moment('The last day ends here, in UTC.'),
    beforeSince: moment('The period before begins here and ends at `since`.'),
    totals: Type.Object(
      {
        signals: pair('Ratings and findings.'),
        sessions: pair('Conversations with agents.'),
        feedback: pair('Feedback records.'),
        recordings: pair('Recordings.'),
      },
      { description: 'How much was said.' },
    ),
    outcomes: Type.Object(
      {
        resolved: pair('Conversations and recordings that were resolved.'),
        unresolved: pair('Unresolved ones.'),
        unclear: pair('Unclear ones.'),
      },
      { description: 'How conversations and recordings ended.' },
    ),
    kinds: topics('kind', 'kind of signal'),
    productAreas: topics('productArea', 'area of the product'),
  }),
)
