/** The operation that reads the timeline of a person. */
import { type Operation, ok, operation } from '../../../http/operation.ts'
import { keyset, toPage } from '../../../http/paging.ts'
import { moment } from '../../../http/parameters.ts'
import { personIdParameter, personRef } from '../../../people/person-id.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { TimelinePageShape, TimelineQuery } from './model.ts'
import { type Place, pathOf, placeOf } from './page.rules.ts'
import type { Timeline, TimelineEntry } from './service.ts'

const NOT_FOUND = 'person_not_found'

const order = keyset('person_timeline', ['moment', 'text', 'text'])

export function timelineOperations(timeline: Timeline): readonly Operation[] {
  return [
    operation({
      id: 'getPersonTimeline',
      method: 'GET',
      path: '/v3/rest/people/{personId}/timeline',
      params: { personId: personIdParameter },
      tag: 'Feedback',
      summary: 'Read what a person said',
      description:
        'Lists what the person said on every channel, newest first: feedback records, agent conversations with the person as a ' +
        'participant, and recordings with the person as a speaker. Each entry quotes the person and has the signals of what they said. ' +
        'Conversations and recordings that the caller may not see are left out. By `cursor`; the cost does not depend on the depth.',
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'person.read', object: 'personId' },
      query: TimelineQuery,
      success: { status: 200, description: 'A page of the timeline', schema: TimelinePageShape },
      errors: [NOT_FOUND],
      async handler({ principal, param, query }) {
        const person = await timeline.person(principal.organizationId, personRef(param('personId')))
        const { limit, cursor, channel, since, until } = query()
        const request = {
          limit,
          channel,
          since: moment('since', since),
          until: moment('until', until),
          after: placeIn(order.decode(cursor)),
        }
        const { entries, end } = await timeline.page(principal, person, request)
        const page = toPage(entries, limit, ({ place }) => order.encode(place), entryResource)
        if (page.has_more || end === null) return ok(page)
        return ok({ ...page, has_more: true, next_cursor: order.encode(end) })
      },
    }),
  ]
}

function placeIn(values: ReturnType<typeof order.decode>): Place | null {
  if (values === null) return null
  const place = placeOf(String(values[0]), values[1], values[2])
  if (place !== null) return place
  throw invalid([{ path: 'cursor', code: 'cursor', message: 'is not a cursor of this list' }])
}

function entryResource({
  channel,
  id,
  title,
  text,
  occurredAt,
  startSec,
  said,
  signals,
  ...entry
}: TimelineEntry) {
  return {
    channel,
    id,
    title,
    text,
    occurredAt,
    startSec,
    path: pathOf({ ...entry, channel, id }),
    said,
    signals,
  }
}
