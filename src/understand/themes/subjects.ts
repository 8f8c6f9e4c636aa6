/** The themes of conversations, feedback records and recordings, for other features. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import * as store from './subjects.store.ts'

export type { ThemeOfSubject } from './subjects.store.ts'

/** Hidden themes are left out. Every member may see titles; the caller has checked access to the subjects. */
export const themesOf = (
  sql: Query,
  organizationId: string,
  subjects: readonly { readonly channel: Channel; readonly id: string }[],
): Promise<readonly store.ThemeOfSubject[]> => store.readThemesOf(sql, organizationId, subjects)
