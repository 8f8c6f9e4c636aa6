/**
 * Builds the services of the features over one `ServiceDeps`. A service that another one uses stands before it.
 */

import { createMembers } from '../access/identity/members.ts'
import { createIdentity } from '../access/identity/service.ts'
import { createAnalyzer } from '../analysis/analyze/create.ts'
import { createVerdicts } from '../analysis/findings/verdicts.ts'
import { createFolders } from '../calls/folders/service.ts'
import { createMetadata } from '../calls/metadata/service.ts'
import {
  eraseParticipations,
  moveParticipationsOf,
  recordingsOfPerson,
} from '../calls/recordings/participants.ts'
import { createPlayback } from '../calls/recordings/playback.ts'
import { createRecordings } from '../calls/recordings/service.ts'
import { createUploadReceiver } from '../calls/uploads/upload-receiver.ts'
import { type Applications, createApplications } from '../hear/agents/applications/service.ts'
import { createIngest } from '../hear/agents/ingest/service.ts'
import { createConversations } from '../hear/agents/reads/service.ts'
import { wakeBlockedSessions } from '../hear/agents/sessions/credits.ts'
import { movePeopleOfSessions } from '../hear/agents/sessions/people.ts'
import { createReadWork } from '../hear/coding-sessions/read.ts'
import { createCodingSessions } from '../hear/coding-sessions/service.ts'
import { createSessionUploads } from '../hear/coding-sessions/uploads.ts'
import { eraseRecordsOf, moveRecordsOf } from '../hear/feedback/service.ts'
import { createProjects } from '../hear/projects/service.ts'
import { createDirectory } from '../people/directory.ts'
import { createPeople } from '../people/service.ts'
import { createContent } from '../tell/content/service.ts'
import { createEventStream } from '../tell/event-stream/service.ts'
import { createWeeklyMails } from '../tell/weekly-mail/service.ts'
import { createAsk } from '../understand/ask/service.ts'
import { createInsight } from '../understand/counts/service.ts'
import { createTimeline } from '../understand/counts/timeline/service.ts'
import { createSearch } from '../understand/search/service.ts'
import type { ServiceDeps } from './container.ts'

/** The services of the features, of which some use others. */
export type Services = ReturnType<typeof createServices>

export function createServices(deps: ServiceDeps) {
  const identity = createIdentity({ ...deps, wakeBlocked: wakeBlockedSessions })
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
