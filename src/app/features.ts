/**
 * Builds every feature over one `ServiceDeps` and collects what they provide: operations for the HTTP interface, actors for
 * worker threads, and maintenance tasks.
 */

import { createReadLog, type ReadLog } from '../access/audit/reads.ts'
import type { Identity } from '../access/identity/service.ts'
import { createSignIn, type SignIn } from '../access/sign-in/service.ts'
import type { ActorDefinition, MaintenanceTask } from '../actors/types.ts'
import type { Folders } from '../calls/folders/service.ts'
import type { Metadata } from '../calls/metadata/service.ts'
import type { Playback } from '../calls/recordings/playback.ts'
import type { UploadReceiver } from '../calls/uploads/upload-receiver.ts'
import type { Applications } from '../hear/agents/applications/service.ts'
import { createWarmUp, type WarmUp } from '../hear/agents/warm-up.ts'
import { createTraces, type Traces } from '../hear/otlp/service.ts'
import { createWebsite } from '../hear/website/service.ts'
import { createWidget, type Widget } from '../hear/widget/service.ts'
import type { Operation } from '../http/operation.ts'
import type { WebsiteOperation } from '../http/website-operation.ts'
import type { Content } from '../tell/content/service.ts'
import type { EventStream } from '../tell/event-stream/service.ts'
import { createTools, type Tools } from '../tell/mcp/service.ts'
import type { WeeklyMails } from '../tell/weekly-mail/service.ts'
import type { ServiceDeps } from './container.ts'
import { actorsOf } from './feature-actors.ts'
import { maintenanceOf } from './feature-maintenance.ts'
import { operationsOf, websiteOperations } from './feature-operations.ts'
import { createServices } from './feature-services.ts'

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

export function createFeatures(deps: ServiceDeps): Features {
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
