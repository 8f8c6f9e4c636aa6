/** Data changes of this version, in order, and the maintenance task that runs them. */

import { QUOTA_CHANGES } from '../access/quotas/backfill.ts'
import { orphanMailboxes } from '../actors/orphan-mailboxes.ts'
import type { MaintenanceTask } from '../actors/types.ts'
import type { TextWork } from '../analysis/analyze/text-work.ts'
import { INSIGHT_CHANGES } from '../analysis/findings/backfill.ts'
import { recordingNamesChange } from '../calls/recordings/names.ts'
import { participantTimeChange } from '../calls/recordings/participants.ts'
import { transcriptWordsChange } from '../calls/transcripts/backfill.ts'
import { usageChange } from '../hear/agents/applications/usage.ts'
import { sessionPeopleChange } from '../hear/agents/sessions/people.ts'
import { sessionTimesChange } from '../hear/agents/sessions/times.ts'
import { personAddressesChange } from '../people/addresses.ts'
import { unicodeDomainsChange } from '../people/maintenance.ts'
import { type ComputedChange, type DataChange, runDataChange } from '../platform/db/data-change.ts'
import { deliveryActors } from '../tell/webhooks/maintenance.ts'
import { weeklyMailActors } from '../tell/weekly-mail/service.ts'
import { COUNT_CHANGES, COVERAGE_CHANGES } from '../understand/counts/backfill.ts'
import { createSearchChanges } from '../understand/search/backfill.ts'
import { themesChange, themeTitlesChange, themeVectorsChange } from '../understand/themes/feed.ts'
import type { ServiceDeps } from './container.ts'

/** A feature exports its change from its store. A change stays here until every supported older version has run it. */
const createDataChanges = (textWork: TextWork): readonly (DataChange | ComputedChange)[] => [
  sessionPeopleChange,
  personAddressesChange,
  unicodeDomainsChange,
  sessionTimesChange,
  participantTimeChange,
  ...createSearchChanges(textWork),
  recordingNamesChange,
  transcriptWordsChange,
  ...INSIGHT_CHANGES,
  themesChange,
  themeTitlesChange,
  themeVectorsChange,
  ...COUNT_CHANGES,
  ...COVERAGE_CHANGES,
  usageChange,
  ...QUOTA_CHANGES,
  orphanMailboxes([deliveryActors, weeklyMailActors]),
]

/** Looks every minute for a change that is not finished, and runs it. */
export function dataChangeMaintenance(
  { sql, newId, log, textWork }: Pick<ServiceDeps, 'sql' | 'newId' | 'log' | 'textWork'>,
  changes: readonly (DataChange | ComputedChange)[] = createDataChanges(textWork),
): readonly MaintenanceTask[] {
  const runner = newId()
  return changes.map((change) => ({
    name: `data_change_${change.name}`,
    everySeconds: 60,
    async run(stopping) {
      const outcome = await runDataChange(sql, change, { runner, stopping })
      if (outcome === 'finished') log.debug({ change: change.name }, 'data change finished')
    },
  }))
}
