/** The maintenance tasks of every feature. This is the only list of them. */

import { auditMaintenance } from '../access/audit/maintenance.ts'
import { identityMaintenance } from '../access/identity/maintenance.ts'
import { quotaMaintenance } from '../access/quotas/maintenance.ts'
import { signInMaintenance } from '../access/sign-in/service.ts'
import type { MaintenanceTask } from '../actors/types.ts'
import { reanalysisMaintenance } from '../analysis/findings/reanalysis.ts'
import { mediaMaintenance } from '../calls/media/service.ts'
import { meetingMaintenance } from '../calls/meetings/maintenance.ts'
import { uploadMaintenance } from '../calls/uploads/maintenance.ts'
import { agentMaintenance } from '../hear/agents/sessions/maintenance.ts'
import { feedbackImportMaintenance } from '../hear/feedback/import-jobs/maintenance.ts'
import { importSourceMaintenance } from '../hear/importers/sources/maintenance.ts'
import { traceMaintenance } from '../hear/otlp/maintenance.ts'
import { peopleMaintenance } from '../people/maintenance.ts'
import { eventStreamMaintenance } from '../tell/event-stream/maintenance.ts'
import { toolsMaintenance } from '../tell/mcp/service.ts'
import { webhookMaintenance } from '../tell/webhooks/maintenance.ts'
import { weeklyMailMaintenance } from '../tell/weekly-mail/service.ts'
import { countMaintenance } from '../understand/counts/fold.ts'
import { recountMaintenance } from '../understand/counts/recount.ts'
import { themeMaintenance } from '../understand/themes/feed.ts'
import type { ServiceDeps } from './container.ts'
import { dataChangeMaintenance } from './data-changes.ts'
import { organizationMaintenance } from './organization-erasure.ts'

export function maintenanceOf(deps: ServiceDeps): readonly MaintenanceTask[] {
  return [
    ...dataChangeMaintenance(deps),
    ...identityMaintenance(deps),
    ...organizationMaintenance(deps),
    ...auditMaintenance(deps),
    ...signInMaintenance(deps),
    ...agentMaintenance(deps),
    ...reanalysisMaintenance(deps),
    ...countMaintenance(deps),
    ...recountMaintenance(deps),
    ...quotaMaintenance(deps),
    ...weeklyMailMaintenance(deps),
    ...mediaMaintenance(deps),
    ...meetingMaintenance(deps),
    ...peopleMaintenance(deps),
    ...uploadMaintenance(deps),
    ...feedbackImportMaintenance(deps),
    ...traceMaintenance(deps),
    ...importSourceMaintenance(deps),
    ...webhookMaintenance(deps),
    ...themeMaintenance(deps),
    ...eventStreamMaintenance(deps),
    ...toolsMaintenance(deps),
  ]
}
