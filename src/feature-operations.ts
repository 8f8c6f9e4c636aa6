/** The operations of every feature. This is the only list of them. */
import { administrationOperations } from './administration/routes.ts'
import { applicationOperations } from './agents/applications/routes.ts'
import { ingestOperations } from './agents/ingest/routes.ts'
import { conversationOperations } from './agents/reads/routes.ts'
import { askOperations } from './ask/routes.ts'
import { assistantOperations } from './assistant/routes.ts'
import { createAssistant } from './assistant/service.ts'
import { auditOperations } from './audit/routes.ts'
import { codingSessionOperations } from './coding-sessions/routes.ts'
import type { Deps } from './container.ts'
import { contentOperations } from './content/routes.ts'
import type { Content } from './content/service.ts'
import { discoveryOperation } from './discovery/routes.ts'
import { eventStreamOperations } from './event-stream/routes.ts'
import type { Services } from './feature-services.ts'
import { feedbackImportOperations } from './feedback/import-jobs/routes.ts'
import { createFeedbackImports } from './feedback/import-jobs/service.ts'
import { feedbackOperations } from './feedback/routes.ts'
import { createFeedback } from './feedback/service.ts'
import { verdictOperations } from './findings/verdict-routes.ts'
import { folderOperations } from './folders/routes.ts'
import { createAuthenticate } from './http/auth.ts'
import type { Operation } from './http/operation.ts'
import type { WebsiteOperation } from './http/website-operation.ts'
import { memberOperations } from './identity/routes.ts'
import type { Identity } from './identity/service.ts'
import { importSourceOperations } from './importers/sources/routes.ts'
import { createImportSources } from './importers/sources/service.ts'
import { insightOperations } from './insight/routes.ts'
import { timelineOperations } from './insight/timeline/routes.ts'
import { meetingOperations } from './meetings/routes.ts'
import { createMeetings } from './meetings/service.ts'
import { metadataOperations } from './metadata/routes.ts'
import { createOrganizationDeletion } from './organizations/erasure.ts'
import { organizationOperations } from './organizations/routes.ts'
import { peopleOperations } from './people/routes.ts'
import { projectOperations } from './projects/routes.ts'
import { recordingOperations } from './recordings/routes.ts'
import { searchOperations } from './search/routes.ts'
import { sessionOperations } from './sign-in/routes.ts'
import { signInStatusOperation } from './sign-in/status-routes.ts'
import { themeOperations } from './themes/routes.ts'
import { createThemes } from './themes/service.ts'
import { transcriptOperations } from './transcripts/routes.ts'
import { createTranscripts } from './transcripts/service.ts'
import { uploadOperations } from './uploads/routes.ts'
import { createUploads } from './uploads/service.ts'
import { webhookOperations } from './webhooks/routes.ts'
import { createWebhooks } from './webhooks/service.ts'
import { formOperations } from './website/routes.ts'
import { createWebsite } from './website/service.ts'
import { selfOperations } from './weekly-mail/routes.ts'
import { publishableKeyOperations } from './widget/routes.ts'

export function operationsOf(deps: Deps, services: Services): readonly Operation[] {
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
    ...uploadOperations(createUploads({ ...deps, folders, uploadReceiver }), deps.config),
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
function readmission({ config }: Deps, identity: Identity) {
  const authenticate = createAuthenticate({ config, identity, countFailure: async () => ({}) })
  return (request: Request, operation: Pick<Operation, 'access'>) =>
    authenticate(request, operation, () => null)
}

/** The operations of the website API. */
export function websiteOperations(deps: Deps, content: Content): readonly WebsiteOperation[] {
  const operations = [
    ...formOperations(createWebsite(deps)),
    ...contentOperations(content),
    ...assistantOperations(createAssistant(deps, content)),
  ]
  return [discoveryOperation(deps.config, operations), ...operations]
}
