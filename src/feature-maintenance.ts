/** The maintenance tasks of every feature. This is the only list of them. */
import type { MaintenanceTask } from './actors/types.ts'
import { agentMaintenance } from './agents/sessions/maintenance.ts'
import { auditMaintenance } from './audit/maintenance.ts'
import type { Deps } from './container.ts'
import { dataChangeMaintenance } from './data-changes.ts'
import { eventStreamMaintenance } from './event-stream/maintenance.ts'
import { feedbackImportMaintenance } from './feedback/import-jobs/maintenance.ts'
import { reanalysisMaintenance } from './findings/reanalysis.ts'
import { identityMaintenance } from './identity/maintenance.ts'
import { importSourceMaintenance } from './importers/sources/maintenance.ts'
import { countMaintenance } from './insight/counts/fold.ts'
import { recountMaintenance } from './insight/counts/recount.ts'
import { toolsMaintenance } from './mcp/service.ts'
import { mediaMaintenance } from './media/service.ts'
import { meetingMaintenance } from './meetings/maintenance.ts'
import { organizationMaintenance } from './organizations/erasure.ts'
import { traceMaintenance } from './otlp/maintenance.ts'
import { peopleMaintenance } from './people/maintenance.ts'
import { quotaMaintenance } from './quotas/maintenance.ts'
import { signInMaintenance } from './sign-in/service.ts'
import { themeMaintenance } from './themes/feed.ts'
import { uploadMaintenance } from './uploads/maintenance.ts'
import { webhookMaintenance } from './webhooks/maintenance.ts'
import { weeklyMailMaintenance } from './weekly-mail/service.ts'

export function maintenanceOf(deps: Deps): readonly MaintenanceTask[] {
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
