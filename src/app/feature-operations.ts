/** The operations of every feature. This is the only list of them. */

import { administrationOperations } from '../access/administration/routes.ts'
import { auditOperations } from '../access/audit/routes.ts'
import { memberOperations } from '../access/identity/routes.ts'
import type { Identity } from '../access/identity/service.ts'
import { organizationOperations } from '../access/organizations/routes.ts'
import { sessionOperations } from '../access/sign-in/routes.ts'
import { signInStatusOperation } from '../access/sign-in/status-routes.ts'
import { folderOperations } from '../calls/folders/routes.ts'
import { meetingOperations } from '../calls/meetings/routes.ts'
import { createMeetings } from '../calls/meetings/service.ts'
import { metadataOperations } from '../calls/metadata/routes.ts'
import { recordingOperations } from '../calls/recordings/routes.ts'
import { addToFolders } from '../calls/recordings/service.ts'
import { transcriptOperations } from '../calls/transcripts/routes.ts'
import { createTranscripts } from '../calls/transcripts/service.ts'
import { uploadOperations } from '../calls/uploads/routes.ts'
import { createUploads } from '../calls/uploads/service.ts'
import { applicationOperations } from '../hear/agents/applications/routes.ts'
import { ingestOperations } from '../hear/agents/ingest/routes.ts'
import { conversationOperations } from '../hear/agents/reads/routes.ts'
import { verdictOperations } from '../hear/agents/reads/verdict-routes.ts'
import { codingSessionOperations } from '../hear/coding-sessions/routes.ts'
import { feedbackImportOperations } from '../hear/feedback/import-jobs/routes.ts'
import { createFeedbackImports } from '../hear/feedback/import-jobs/service.ts'
import { feedbackOperations } from '../hear/feedback/routes.ts'
import { createFeedback } from '../hear/feedback/service.ts'
import { importSourceOperations } from '../hear/importers/sources/routes.ts'
import { createImportSources } from '../hear/importers/sources/service.ts'
import { projectOperations } from '../hear/projects/routes.ts'
import { formOperations } from '../hear/website/routes.ts'
import { createWebsite } from '../hear/website/service.ts'
import { publishableKeyOperations } from '../hear/widget/routes.ts'
import { createAuthenticate } from '../http/auth.ts'
import type { Operation } from '../http/operation.ts'
import type { WebsiteOperation } from '../http/website-operation.ts'
import { peopleOperations } from '../people/routes.ts'
import { assistantOperations } from '../tell/assistant/routes.ts'
import { createAssistant } from '../tell/assistant/service.ts'
import { contentOperations } from '../tell/content/routes.ts'
import type { Content } from '../tell/content/service.ts'
import { discoveryOperation } from '../tell/discovery/routes.ts'
import { eventStreamOperations } from '../tell/event-stream/routes.ts'
import { webhookOperations } from '../tell/webhooks/routes.ts'
import { createWebhooks } from '../tell/webhooks/service.ts'
import { selfOperations } from '../tell/weekly-mail/routes.ts'
import { askOperations } from '../understand/ask/routes.ts'
import { insightOperations } from '../understand/counts/routes.ts'
import { timelineOperations } from '../understand/counts/timeline/routes.ts'
import { searchOperations } from '../understand/search/routes.ts'
import { themeOperations } from '../understand/themes/routes.ts'
import { createThemes } from '../understand/themes/service.ts'
import type { ServiceDeps } from './container.ts'
import type { Services } from './feature-services.ts'
import { createOrganizationDeletion } from './organization-erasure.ts'

export function operationsOf(deps: ServiceDeps, services: Services): readonly Operation[] {
  const {
    identity,
    applications,
    ingest,
    metadata,
    folders,
    uploadReceiver,
    playback,
    sessionUploads,
    codingSessions,
    projects,
    recordings,
    conversations,
    verdicts,
    search,
    ask,
    insight,
    eventStream,
    members,
    weeklyMails,
    directory,
    timeline,
  } = services
  return [
    ...ingestOperations(ingest),
    ...conversationOperations(conversations),
    ...verdictOperations(verdicts),
    ...applicationOperations(applications),
    ...publishableKeyOperations(identity, applications),
    ...organizationOperations(identity, createOrganizationDeletion({ ...deps, forget: identity.forgetUser })),
    ...administrationOperations(deps, identity),
    ...auditOperations({ reads: deps.reads, days: deps.config.auditDays }),
    ...sessionOperations(identity, deps.config),
    signInStatusOperation(deps.config),
    ...metadataOperations(metadata),
    ...folderOperations(folders),
    ...selfOperations(members, weeklyMails),
    ...memberOperations(members, identity, deps.config),
    ...recordingOperations(recordings, playback),
    ...meetingOperations(createMeetings({ ...deps, folders, recordings, identity })),
    ...uploadOperations(createUploads({ ...deps, folders, uploadReceiver, addToFolders }), deps.config),
    ...feedbackOperations(createFeedback({ ...deps, assertPerson: directory.get })),
    ...feedbackImportOperations(createFeedbackImports({ ...deps, uploadReceiver }), deps.config),
    ...peopleOperations(directory),
    ...timelineOperations(timeline),
    ...insightOperations(insight),
    ...searchOperations(search),
    ...askOperations(ask),
    ...themeOperations(createThemes({ ...deps, folders, conversations })),
    ...eventStreamOperations(eventStream, readmission(deps, identity)),
    ...importSourceOperations(createImportSources(deps), applications),
    ...webhookOperations(createWebhooks(deps)),
    ...projectOperations(projects),
    ...codingSessionOperations(codingSessions, sessionUploads, deps.config),
    ...transcriptOperations(createTranscripts(deps), {
      assertVisible: (principal, recordingId) => folders.assertVisible(deps.reads, principal, recordingId),
      speakersOf: recordings.speakersOf,
    }),
  ]
}

/** Authenticates the request of an open stream again. Its failures do not count against the limit of new requests. */
function readmission({ config }: ServiceDeps, identity: Identity) {
  const authenticate = createAuthenticate({ config, identity, countFailure: async () => ({}) })
  return (request: Request, operation: Pick<Operation, 'access'>) =>
    authenticate(request, operation, () => null)
}

/** The operations of the website API. */
export function websiteOperations(deps: ServiceDeps, content: Content): readonly WebsiteOperation[] {
  const operations = [
    ...formOperations(createWebsite(deps)),
    ...contentOperations(content),
    ...assistantOperations(createAssistant(deps, content)),
  ]
  return [discoveryOperation(deps.config, operations), ...operations]
}
