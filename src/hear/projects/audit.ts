/** Entries of the audit log on projects, for the REST interface and for the tools. */
import { type Cause, recorded } from '../../access/audit/change.ts'
import type { ProjectRow } from './store.ts'

export const projectCreated = (cause: Cause) =>
  recorded(cause, 'project.created', ({ publicId }: ProjectRow) => publicId)

export const sessionAdded = (cause: Cause, publicId: string, sessionId: string) =>
  recorded(
    cause,
    'project.session_added',
    () => publicId,
    () => ({ sessionId }),
  )
