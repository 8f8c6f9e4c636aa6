/** Data changes of this version, in order, and the maintenance task that runs them. */
import { orphanMailboxes } from './actors/orphan-mailboxes.ts'
import type { MaintenanceTask } from './actors/types.ts'
import { usageChange } from './agents/applications/usage.ts'
import { sessionPeopleChange } from './agents/sessions/people.ts'
import { sessionTimesChange } from './agents/sessions/times.ts'
import type { TextWork } from './analyze/text-work.ts'
import type { Deps } from './container.ts'
import { INSIGHT_CHANGES } from './findings/backfill.ts'
import { COUNT_CHANGES, COVERAGE_CHANGES } from './insight/counts/backfill.ts'
import { personAddressesChange } from './people/addresses.ts'
import { unicodeDomainsChange } from './people/maintenance.ts'
import { type ComputedChange, type DataChange, runDataChange } from './platform/db/data-change.ts'
import { QUOTA_CHANGES } from './quotas/backfill.ts'
import { recordingNamesChange } from './recordings/names.ts'
import { participantTimeChange } from './recordings/participants.ts'
import { createSearchChanges } from './search/backfill.ts'
import { themesChange, themeVectorsChange } from './themes/feed.ts'
import { transcriptWordsChange } from './transcripts/backfill.ts'
import { deliveryActors } from './webhooks/maintenance.ts'
import { weeklyMailActors } from './weekly-mail/service.ts'

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
  themeVectorsChange,
  ...COUNT_CHANGES,
  ...COVERAGE_CHANGES,
  usageChange,
  ...QUOTA_CHANGES,
  orphanMailboxes([deliveryActors, weeklyMailActors]),
]

/** Looks every minute for a change that is not finished, and runs it. */
export function dataChangeMaintenance(
  { sql, newId, log, textWork }: Pick<Deps, 'sql' | 'newId' | 'log' | 'textWork'>,
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
