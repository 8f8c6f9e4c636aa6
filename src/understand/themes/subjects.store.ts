/** The SQL that reads the themes of subjects. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'

export interface ThemeOfSubject {
  readonly channel: Channel
  /** Id of the session, the feedback record or the recording. */
  readonly id: string
  readonly themeId: string
  readonly title: string
}

/** A subject has a row for each of its themes. */
export const readThemesOf = (
  sql: Query,
  organizationId: string,
  subjects: readonly { readonly channel: Channel; readonly id: string }[],
) => sql<ThemeOfSubject[]>`
  select asked.channel, asked.id, t.id as "themeId", theme_title(t) as title
  from (
    select distinct k.channel, k.id, coalesce(member.merged_into, member.id) as theme_id
    from unnest(
      ${subjects.map(({ channel }) => channel)}::text[], ${subjects.map(({ id }) => id)}::text[]
    ) as k (channel, id)
    join theme_item i on i.organization_id = ${organizationId} and i.channel = k.channel and i.subject_id = k.id
    join theme member on member.organization_id = ${organizationId} and member.id = i.theme_id
  ) asked
  join theme t on t.organization_id = ${organizationId} and t.id = asked.theme_id
  where not t.hidden`
