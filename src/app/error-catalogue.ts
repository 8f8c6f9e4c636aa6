/**
 * All errors of the service: those of the platform and those that each feature declares. The OpenAPI document shows them as
 * closed lists.
 */
import { ADMINISTRATION_ERRORS } from '../access/administration/errors.ts'
import { IDENTITY_ERRORS } from '../access/identity/errors.ts'
import { QUOTA_ERRORS } from '../access/quotas/errors.ts'
import { FINDING_ERRORS } from '../analysis/findings/errors.ts'
import { FOLDER_ERRORS } from '../calls/folders/errors.ts'
import { MEDIA_ERRORS } from '../calls/media/errors.ts'
import { MEETING_ERRORS } from '../calls/meetings/errors.ts'
import { METADATA_ERRORS } from '../calls/metadata/errors.ts'
import { RECORDING_ERRORS } from '../calls/recordings/errors.ts'
import { TRANSCRIPT_ERRORS } from '../calls/transcripts/errors.ts'
import { UPLOAD_ERRORS } from '../calls/uploads/errors.ts'
import { AGENT_ERRORS } from '../hear/agents/errors.ts'
import { CODING_SESSION_ERRORS } from '../hear/coding-sessions/errors.ts'
import { FEEDBACK_ERRORS } from '../hear/feedback/errors.ts'
import { IMPORTER_ERRORS } from '../hear/importers/errors.ts'
import { OTLP_ERRORS } from '../hear/otlp/errors.ts'
import { PROJECT_ERRORS } from '../hear/projects/errors.ts'
import { PEOPLE_ERRORS } from '../people/errors.ts'
import {
  type DeclaredErrors,
  type ErrorCatalogue,
  type ErrorDeclaration,
  PLATFORM_ERRORS,
} from '../platform/errors.ts'
import { CONTENT_ERRORS } from '../tell/content/errors.ts'
import { EVENT_STREAM_ERRORS } from '../tell/event-stream/errors.ts'
import { MCP_ERRORS } from '../tell/mcp/errors.ts'
import { WEBHOOK_ERRORS } from '../tell/webhooks/errors.ts'
import { INSIGHT_ERRORS } from '../understand/counts/errors.ts'
import { SEARCH_ERRORS } from '../understand/search/errors.ts'
import { THEME_ERRORS } from '../understand/themes/errors.ts'

/** The compiler requires every owner that declares errors. */
const DECLARED: DeclaredErrors = {
  platform: PLATFORM_ERRORS,
  administration: ADMINISTRATION_ERRORS,
  agents: AGENT_ERRORS,
  codingSessions: CODING_SESSION_ERRORS,
  content: CONTENT_ERRORS,
  eventStream: EVENT_STREAM_ERRORS,
  feedback: FEEDBACK_ERRORS,
  findings: FINDING_ERRORS,
  folders: FOLDER_ERRORS,
  identity: IDENTITY_ERRORS,
  importers: IMPORTER_ERRORS,
  insight: INSIGHT_ERRORS,
  mcp: MCP_ERRORS,
  media: MEDIA_ERRORS,
  meetings: MEETING_ERRORS,
  metadata: METADATA_ERRORS,
  otlp: OTLP_ERRORS,
  people: PEOPLE_ERRORS,
  projects: PROJECT_ERRORS,
  quotas: QUOTA_ERRORS,
  recordings: RECORDING_ERRORS,
  search: SEARCH_ERRORS,
  themes: THEME_ERRORS,
  transcripts: TRANSCRIPT_ERRORS,
  uploads: UPLOAD_ERRORS,
  webhooks: WEBHOOK_ERRORS,
}

const DECLARATIONS: readonly ErrorDeclaration[] = Object.values(DECLARED)

/** Passed on in `Deps`. */
export const ERRORS = {
  codes: Object.fromEntries(
    Object.entries(mergeDeclared(DECLARATIONS.map(({ codes }) => codes))).toSorted(([, a], [, b]) => a - b),
  ),
  details: mergeDeclared(DECLARATIONS.map(({ details = {} }) => details)),
  members: mergeDeclared(DECLARATIONS.map(({ members = {} }) => members)),
  rows: mergeDeclared(DECLARATIONS.map(({ rows = {} }) => rows)),
} as ErrorCatalogue

/** All parts in one object. @throws Error if two parts declare the same name */
export function mergeDeclared<T>(parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const merged: Record<string, T> = {}
  for (const [name, value] of parts.flatMap((part) => Object.entries(part))) {
    if (Object.hasOwn(merged, name)) throw new Error(`The error catalogue declares ${name} twice.`)
    merged[name] = value
  }
  return merged
}
