/** The tool that reads what one person said. */
import { Type } from '@sinclair/typebox'
import { moment } from '../../../http/parameters.ts'
import { isUuid } from '../../../platform/ids.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { moment as momentSchema, orNull, text } from '../../../platform/validation/schema.ts'
import { TimelineEntryShape } from '../../../understand/counts/timeline/model.ts'
import { pathOf } from '../../../understand/counts/timeline/page.rules.ts'
import type { Timeline, TimelineEntry } from '../../../understand/counts/timeline/service.ts'
import { type Tool, tool } from './tool.ts'

const MAX_ENTRIES = 50

export const timelineTool = (timeline: Timeline, publicBaseUrl: string | null): Tool =>
  tool({
    name: 'get-person-timeline',
    title: 'Read what a person said',
    description:
      'Lists what one customer said on every channel, newest first: all their feedback records, all recordings in which they speak, and ' +
      'all their conversations with agents, each with quotations and signals. Give either `personId` or `email`. For older entries call ' +
      'again with `until` set to the time of the last one.',
    changes: false,
    idempotent: true,
    input: Type.Object(
      {
        personId: Type.Optional(text('The `uuid` of the person.', { minLength: 1, maxLength: 36 })),
        email: Type.Optional(text('E-mail address of the person.', { minLength: 1, maxLength: 320 })),
        since: Type.Optional(
          momentSchema('From this time on: RFC 3339 with offset, such as 2026-01-02T00:00:00Z.'),
        ),
        until: Type.Optional(momentSchema('Before this time: RFC 3339 with offset.')),
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MAX_ENTRIES,
            description: `At most so many: 1 to ${MAX_ENTRIES}. Default: 10.`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      person: Type.Object({
        personId: Type.String({ description: 'The `uuid` of the person.' }),
        email: orNull(Type.String()),
        firstName: orNull(Type.String()),
        lastName: orNull(Type.String()),
      }),
      data: Type.Array(
        Type.Composite([
          Type.Omit(TimelineEntryShape, ['path']),
          Type.Object({ link: Type.String({ description: 'Where the REST API has more of it.' }) }),
        ]),
      ),
    }),
    async prepare(user, { limit = 10, since, until, ...wanted }) {
      const person = await timeline.person(user.organizationId, personOf(wanted))
      const period = { since: moment('since', since), until: moment('until', until) }
      return {
        async run() {
          const { uuid: personId, email, firstName, lastName } = person
          const { entries } = await timeline.page(user, person, { ...period, limit, after: null })
          const data = entries.slice(0, limit).map((entry) => linked(entry, publicBaseUrl ?? ''))
          return { person: { personId, email, firstName, lastName }, data }
        },
      }
    },
  })

function personOf({
  personId,
  email,
}: {
  readonly personId?: string | undefined
  readonly email?: string | undefined
}) {
  if ((personId === undefined) === (email === undefined))
    throw invalid([
      { path: 'personId', code: 'contradiction', message: 'must be given, or email, but not both' },
    ])
  if (personId === undefined) return { email: email?.trim() ?? '' }
  if (isUuid(personId)) return personId.toLowerCase()
  throw invalid([{ path: 'personId', code: 'uuid', message: 'must be a UUID' }])
}

function linked({ place: _, sourceId, ...entry }: TimelineEntry, base: string) {
  const said = entry.said.map((passage) => ({
    ...passage,
    occurredAt: passage.occurredAt?.toISOString() ?? null,
  }))
  const signals = entry.signals.map((signal) => ({ ...signal, occurredAt: signal.occurredAt.toISOString() }))
  return {
    ...entry,
    occurredAt: entry.occurredAt.toISOString(),
    said,
    signals,
    link: `${base}${pathOf({ ...entry, sourceId })}`,
  }
}
