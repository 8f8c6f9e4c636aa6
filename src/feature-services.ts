/**
 * Builds the services of the features over one `Deps`. A service that another one uses stands before it.
 */
import { type Applications, createApplications } from './agents/applications/service.ts'
import { createIngest } from './agents/ingest/service.ts'
import { createConversations } from './agents/reads/service.ts'
import { movePeopleOfSessions } from './agents/sessions/people.ts'
import { createAnalyzer } from './analyze/create.ts'
import { createAsk } from './ask/service.ts'
import { createReadWork } from './coding-sessions/read.ts'
import { createCodingSessions } from './coding-sessions/service.ts'
import { createSessionUploads } from './coding-sessions/uploads.ts'
import type { Deps } from './container.ts'
import { createContent } from './content/service.ts'
import { createEventStream } from './event-stream/service.ts'
import { eraseRecordsOf, moveRecordsOf } from './feedback/service.ts'
import { createVerdicts } from './findings/verdicts.ts'
import { createFolders } from './folders/service.ts'
import { createMembers } from './identity/members.ts'
import { createIdentity } from './identity/service.ts'
import { createInsight } from './insight/service.ts'
import { createTimeline } from './insight/timeline/service.ts'
import { createMetadata } from './metadata/service.ts'
import { createDirectory } from './people/directory.ts'
import { createPeople } from './people/service.ts'
import { createProjects } from './projects/service.ts'
import { eraseParticipations, moveParticipationsOf, recordingsOfPerson } from './recordings/participants.ts'
import { createPlayback } from './recordings/playback.ts'
import { createRecordings } from './recordings/service.ts'
import { createSearch } from './search/service.ts'
import { createUploadReceiver } from './uploads/upload-receiver.ts'
import { createWeeklyMails } from './weekly-mail/service.ts'

/** The services of the features, of which some use others. */
export type Services = ReturnType<typeof createServices>

export function createServices(deps: Deps) {
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
  const ask = createAsk({ ...deps, search })
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
    applications,
    ingest,
    metadata,
    folders,
    content,
    uploadReceiver,
    playback,
    reading,
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
    movers,
    directory,
    timeline,
  }
}

/** The redaction rules of the newest agent applications of an organization. */
function redactionOf(applications: Applications) {
  return async (organizationId: string) => {
    const newest = await applications.list(organizationId, undefined, { after: null, limit: 100 })
    return newest.map(({ settings }) => settings)
  }
}
