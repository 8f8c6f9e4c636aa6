/**
 * Builds every feature over one `Deps` and collects what they provide: operations for the HTTP interface, actors for
 * worker threads, and maintenance tasks.
 */
import type { ActorDefinition, MaintenanceTask } from './actors/types.ts'
import type { Applications } from './agents/applications/service.ts'
import { createWarmUp, type WarmUp } from './agents/warm-up.ts'
import { createReadLog, type ReadLog } from './audit/reads.ts'
import type { Deps } from './container.ts'
import type { Content } from './content/service.ts'
import type { EventStream } from './event-stream/service.ts'
import { actorsOf } from './feature-actors.ts'
import { maintenanceOf } from './feature-maintenance.ts'
import { operationsOf, websiteOperations } from './feature-operations.ts'
import { createServices } from './feature-services.ts'
import type { Folders } from './folders/service.ts'
import type { Operation } from './http/operation.ts'
import type { WebsiteOperation } from './http/website-operation.ts'
import type { Identity } from './identity/service.ts'
import { createTools, type Tools } from './mcp/service.ts'
import type { Metadata } from './metadata/service.ts'
import { createTraces, type Traces } from './otlp/service.ts'
import type { Playback } from './recordings/playback.ts'
import { createSignIn, type SignIn } from './sign-in/service.ts'
import type { UploadReceiver } from './uploads/upload-receiver.ts'
import { createWebsite } from './website/service.ts'
import type { WeeklyMails } from './weekly-mail/service.ts'
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
  const services = createServices(deps)
  const {
    identity,
    applications,
    metadata,
    folders,
    content,
    uploadReceiver,
    playback,
    sessionUploads,
    codingSessions,
    projects,
    search,
    ask,
    insight,
    eventStream,
    weeklyMails,
    timeline,
  } = services
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
    tools: createTools({ ...deps, projects, codingSessions, sessionUploads, insight, search, ask, timeline }),
    operations: operationsOf(deps, services),
    content,
    website: websiteOperations(deps, content),
    widget: createWidget({ ...deps, applications, website: createWebsite(deps) }),
    actors: actorsOf(deps, services),
    maintenance: maintenanceOf(deps),
    warmUp: createWarmUp({ ...deps, createOrganization: identity.createOrganization }),
  }
}
