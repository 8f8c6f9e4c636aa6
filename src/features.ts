/**
 * Builds every feature over one `Deps` and collects what they provide: operations for the HTTP interface, actors for
 * worker threads, and maintenance tasks. This is the only list of features.
 */
import type { ActorDefinition, MaintenanceTask } from './actors/types.ts'
import { administrationOperations } from './administration/routes.ts'
import { analysisActor } from './agents/analysis/actor.ts'
import { rereadingActor } from './agents/analysis/rereading.ts'
import { applicationOperations } from './agents/applications/routes.ts'
import { type Applications, createApplications } from './agents/applications/service.ts'
import { ingestOperations } from './agents/ingest/routes.ts'
import { createIngest } from './agents/ingest/service.ts'
import { createStoreVisitorFeedback } from './agents/ingest/visitor-feedback.ts'
import { conversationOperations } from './agents/reads/routes.ts'
import { createConversations } from './agents/reads/service.ts'
import { sessionActor } from './agents/sessions/actor.ts'
import { sessionErasure } from './agents/sessions/erasure.ts'
import { agentMaintenance } from './agents/sessions/maintenance.ts'
import { movePeopleOfSessions } from './agents/sessions/people.ts'
import { createWarmUp, type WarmUp } from './agents/warm-up.ts'
import { createAnalyzer } from './analyze/create.ts'
import { assistantOperations } from './assistant/routes.ts'
import { createAssistant } from './assistant/service.ts'
import { auditMaintenance } from './audit/maintenance.ts'
import { createReadLog, type ReadLog } from './audit/reads.ts'
import { auditOperations } from './audit/routes.ts'
import { codingSessionActor } from './coding-sessions/actor.ts'
import { codingSessionErasure } from './coding-sessions/erasure.ts'
import { createReadWork } from './coding-sessions/read.ts'
import { codingSessionOperations } from './coding-sessions/routes.ts'
import { createCodingSessions } from './coding-sessions/service.ts'
import { createSessionUploads } from './coding-sessions/uploads.ts'
import type { Deps } from './container.ts'
import { contentOperations } from './content/routes.ts'
import { type Content, createContent } from './content/service.ts'
import { dataChangeMaintenance } from './data-changes.ts'
import { discoveryOperation } from './discovery/routes.ts'
import { eventStreamMaintenance } from './event-stream/maintenance.ts'
import { eventStreamOperations } from './event-stream/routes.ts'
import { createEventStream, type EventStream } from './event-stream/service.ts'
import { feedbackImportActor } from './feedback/imports/actor.ts'
import { feedbackImportErasure } from './feedback/imports/erasure.ts'
import { feedbackImportMaintenance } from './feedback/imports/maintenance.ts'
import { feedbackImportOperations } from './feedback/imports/routes.ts'
import { createFeedbackImports } from './feedback/imports/service.ts'
import { feedbackOperations } from './feedback/routes.ts'
import { createFeedback, eraseRecordsOf, moveRecordsOf } from './feedback/service.ts'
import { insightActor, insightAgainActor } from './findings/actor.ts'
import { findingGateActor } from './findings/gate.ts'
import { reanalysisMaintenance } from './findings/reanalysis.ts'
import { verdictOperations } from './findings/verdict-routes.ts'
import { createVerdicts } from './findings/verdicts.ts'
import { folderOperations } from './folders/routes.ts'
import { createFolders, type Folders } from './folders/service.ts'
import { createAuthenticate } from './http/auth.ts'
import type { Operation } from './http/operation.ts'
import type { WebsiteOperation } from './http/website-operation.ts'
import { identityMaintenance } from './identity/maintenance.ts'
import { createMembers } from './identity/members.ts'
import { memberOperations } from './identity/routes.ts'
import { createIdentity, type Identity } from './identity/service.ts'
import { importSourceActor } from './importers/sources/actor.ts'
import { importSourceMaintenance } from './importers/sources/maintenance.ts'
import { importSourceOperations } from './importers/sources/routes.ts'
import { createImportSources } from './importers/sources/service.ts'
import { countMaintenance } from './insight/counts/fold.ts'
import { insightOperations } from './insight/routes.ts'
import { createInsight } from './insight/service.ts'
import { timelineOperations } from './insight/timeline/routes.ts'
import { createTimeline } from './insight/timeline/service.ts'
import { createTools, type Tools, toolsMaintenance } from './mcp/service.ts'
import { mediaMaintenance } from './media/service.ts'
import { meetingActor } from './meetings/actor.ts'
import { recorderErasure } from './meetings/discard.ts'
import { meetingMaintenance } from './meetings/maintenance.ts'
import { meetingOperations } from './meetings/routes.ts'
import { createMeetings } from './meetings/service.ts'
import { valueErasure } from './metadata/erasure.ts'
import { metadataOperations } from './metadata/routes.ts'
import { createMetadata, type Metadata } from './metadata/service.ts'
import { organizationOperations } from './organizations/routes.ts'
import { traceActor } from './otlp/actor.ts'
import { traceErasure } from './otlp/erasure.ts'
import { traceMaintenance } from './otlp/maintenance.ts'
import { createTraces, type Traces } from './otlp/service.ts'
import { createDirectory } from './people/directory.ts'
import { erasureActor } from './people/erasure-actor.ts'
import { personMergeActor } from './people/merge.ts'
import { peopleOperations } from './people/routes.ts'
import { createPeople } from './people/service.ts'
import { projectOperations } from './projects/routes.ts'
import { createProjects } from './projects/service.ts'
import { recordingActor } from './recordings/actor.ts'
import { recordingErasure, speakerErasure } from './recordings/erasure.ts'
import { eraseParticipations, moveParticipationsOf, recordingsOfPerson } from './recordings/participants.ts'
import { createPlayback, type Playback } from './recordings/playback.ts'
import { recordingOperations } from './recordings/routes.ts'
import { createRecordings } from './recordings/service.ts'
import { passageActor } from './search/actor.ts'
import { searchOperations } from './search/routes.ts'
import { createSearch } from './search/service.ts'
import { signInActor } from './sign-in/actor.ts'
import { sessionOperations } from './sign-in/routes.ts'
import { createSignIn, type SignIn, signInMaintenance } from './sign-in/service.ts'
import { signInStatusOperation } from './sign-in/status-routes.ts'
import { themesActor } from './themes/actor.ts'
import { themeMaintenance } from './themes/feed.ts'
import { themeOperations } from './themes/routes.ts'
import { createThemes } from './themes/service.ts'
import { transcriptionActor } from './transcribe/actor.ts'
import { transcriptErasure } from './transcripts/erasure.ts'
import { transcriptOperations } from './transcripts/routes.ts'
import { createTranscripts } from './transcripts/service.ts'
import { fileNameErasure } from './uploads/erasure.ts'
import { uploadMaintenance } from './uploads/maintenance.ts'
import { uploadOperations } from './uploads/routes.ts'
import { createUploads } from './uploads/service.ts'
import { createUploadReceiver, type UploadReceiver } from './uploads/upload-receiver.ts'
import { webhookActors } from './webhooks/actor.ts'
import { webhookErasure } from './webhooks/erasure.ts'
import { webhookMaintenance } from './webhooks/maintenance.ts'
import { webhookOperations } from './webhooks/routes.ts'
import { createWebhooks } from './webhooks/service.ts'
import { formActor } from './website/actor.ts'
import { formOperations } from './website/routes.ts'
import { createWebsite } from './website/service.ts'
import { weeklyMailActor } from './weekly-mail/actor.ts'
import { selfOperations } from './weekly-mail/routes.ts'
import { createWeeklyMails, type WeeklyMails, weeklyMailMaintenance } from './weekly-mail/service.ts'
import { visitorFeedbackActor } from './widget/actor.ts'
import { publishableKeyOperations } from './widget/routes.ts'
import { createWidget, type Widget } from './widget/service.ts'

export interface Features {
  readonly identity: Identity
  readonly signIn: SignIn
  readonly weeklyMails: WeeklyMails
  readonly applications: Applications
  readonly metadata: Metadata
  readonly folders: Folders
  /** Receives the bytes of uploads. Stop it before the HTTP server. */
  readonly uploadReceiver: UploadReceiver
  readonly playback: Playback
  /** Open streams of changes. Stop it before the HTTP server. */
  readonly eventStream: EventStream
  /** Reads of users for the audit log. Close it after the HTTP server. */
  readonly readLog: ReadLog
  readonly operations: readonly Operation[]
  /** Receives OpenTelemetry spans. */
  readonly traces: Traces
  /** What coding agents may call. */
  readonly tools: Tools
  readonly content: Content
  readonly website: readonly WebsiteOperation[]
  /** What web pages with a publishable key may do. */
  readonly widget: Widget
  readonly actors: readonly ActorDefinition[]
  readonly maintenance: readonly MaintenanceTask[]
  readonly warmUp: WarmUp
}

export function createFeatures(deps: Deps): Features {
  const identity = createIdentity(deps)
  const applications = createApplications({ ...deps, identity })
  const ingest = createIngest(deps, applications)
  const metadata = createMetadata(deps)
  const folders = createFolders(deps)
  const content = createContent(deps)
  const uploadReceiver = createUploadReceiver(deps)
  const playback = createPlayback(deps)
  const reading = { secretRules: redactionOf(applications), readWork: createReadWork() }
  const sessionUploads = createSessionUploads({ ...deps, ...reading, uploadReceiver })
  const codingSessions = createCodingSessions({ ...deps, ...reading, bindUpload: sessionUploads.bind })
  const projects = createProjects({ ...deps, codingSessions })
  const recordings = createRecordings({ ...deps, folders, metadata, people: createPeople(deps) })
  const conversations = createConversations({ ...deps, folders })
  const verdicts = createVerdicts({
    ...deps,
    conversations,
    analyzer: createAnalyzer(deps),
  })
  const search = createSearch({ ...deps, folders, conversations })
  const insight = createInsight({ ...deps, folders, conversations })
  const eventStream = createEventStream({ ...deps, folders, conversations })
  const members = createMembers({ ...deps, identity, privateContent: folders.privateContent })
  const weeklyMails = createWeeklyMails(deps)
  const movers = [moveRecordsOf, moveParticipationsOf, ...movePeopleOfSessions]
  const directory = createDirectory({
    ...deps,
    movers,
    erasers: { feedbackRecords: eraseRecordsOf, participations: eraseParticipations },
    recordingsOf: recordingsOfPerson,
  })
  const timeline = createTimeline({ ...deps, folders, conversations, directory })
  return {
    identity,
    signIn: createSignIn(deps),
    weeklyMails,
    applications,
    metadata,
    folders,
    uploadReceiver,
    playback,
    eventStream,
    readLog: createReadLog(deps),
    traces: createTraces(deps, applications),
    tools: createTools({ ...deps, projects, codingSessions, sessionUploads, insight, search, timeline }),
    operations: [
      ...ingestOperations(ingest),
      ...conversationOperations(conversations),
      ...verdictOperations(verdicts),
      ...applicationOperations(applications),
      ...publishableKeyOperations(identity, applications),
      ...organizationOperations(identity),
      ...administrationOperations(deps, identity),
      ...auditOperations({ reads: deps.reads, days: deps.config.auditDays }),
      ...sessionOperations(identity, deps.config),
      signInStatusOperation(deps.config),
      ...metadataOperations(metadata),
      ...folderOperations(folders),
      ...selfOperations(members, weeklyMails),
      ...memberOperations(members, identity),
      ...recordingOperations(recordings, playback),
      ...meetingOperations(createMeetings({ ...deps, folders, recordings, identity })),
      ...uploadOperations(createUploads({ ...deps, folders, uploadReceiver }), deps.config),
      ...feedbackOperations(createFeedback({ ...deps, assertPerson: directory.get })),
      ...feedbackImportOperations(createFeedbackImports({ ...deps, uploadReceiver }), deps.config),
      ...peopleOperations(directory),
      ...timelineOperations(timeline),
      ...insightOperations(insight),
      ...searchOperations(search),
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
    ],
    content,
    website: websiteOperations(deps, content),
    widget: createWidget({ ...deps, applications, website: createWebsite(deps) }),
    actors: [
      sessionActor(deps),
      analysisActor(deps),
      rereadingActor(deps),
      insightActor(deps),
      findingGateActor(),
      insightAgainActor(deps),
      passageActor(deps),
      themesActor(deps),
      recordingActor(deps),
      transcriptionActor(deps),
      meetingActor(deps),
      formActor(deps),
      visitorFeedbackActor(createStoreVisitorFeedback({ ...deps, applications, ingest })),
      codingSessionActor({ ...deps, ...reading }),
      traceActor({ append: ingest.append, applications }),
      importSourceActor({ ...deps, append: ingest.append, applications }),
      feedbackImportActor({ ...deps, people: createPeople(deps) }),
      ...webhookActors(deps),
      signInActor({ ...deps, identity }),
      weeklyMailActor({ ...deps, insight }),
      personMergeActor(movers),
      erasureActor(deps, [
        sessionErasure(deps),
        recordingErasure,
        speakerErasure,
        transcriptErasure,
        valueErasure,
        fileNameErasure,
        codingSessionErasure,
        feedbackImportErasure,
        traceErasure,
        webhookErasure,
        recorderErasure,
      ]),
    ],
    maintenance: [
      ...dataChangeMaintenance(deps),
      ...identityMaintenance(deps),
      ...auditMaintenance(deps),
      ...signInMaintenance(deps),
      ...agentMaintenance(deps),
      ...reanalysisMaintenance(deps),
      ...countMaintenance(deps),
      ...weeklyMailMaintenance(deps),
      ...mediaMaintenance(deps),
      ...meetingMaintenance(deps),
      ...uploadMaintenance(deps),
      ...feedbackImportMaintenance(deps),
      ...traceMaintenance(deps),
      ...importSourceMaintenance(deps),
      ...webhookMaintenance(deps),
      ...themeMaintenance(deps),
      ...eventStreamMaintenance(deps),
      ...toolsMaintenance(deps),
    ],
    warmUp: createWarmUp({ ...deps, createOrganization: identity.createOrganization }),
  }
}

/** The redaction rules of the newest agent applications of an organization. */
function redactionOf(applications: Applications) {
  return async (organizationId: string) => {
    const newest = await applications.list(organizationId, undefined, { after: null, limit: 100 })
    return newest.map(({ settings }) => settings)
  }
}

/** Authenticates the request of an open stream again. Its failures do not count against the limit of new requests. */
function readmission({ config }: Deps, identity: Identity) {
  const authenticate = createAuthenticate({ config, identity, countFailure: async () => ({}) })
  return (request: Request, operation: Pick<Operation, 'access'>) =>
    authenticate(request, operation, () => null)
}

function websiteOperations(deps: Deps, content: Content): readonly WebsiteOperation[] {
  const operations = [
    ...formOperations(createWebsite(deps)),
    ...contentOperations(content),
    ...assistantOperations(createAssistant(deps, content)),
  ]
  return [discoveryOperation(deps.config, operations), ...operations]
}
