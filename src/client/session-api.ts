/** The REST requests that `earshot agent-session` needs. Each may be repeated if its answer was lost. */
import type { Send } from './requests.ts'

const SESSIONS = '/v3/rest/coding-sessions'
const UPLOADS = `${SESSIONS}/uploads`

export interface NewSessionFile {
  readonly fileName: string
  /** Bytes. */
  readonly fileSize: number
  /** Identifies the upload if the answer to its creation was lost. */
  readonly uploadKey: string
  readonly format: string
  readonly title?: string
  readonly agent?: string
  readonly repo?: string
  readonly branch?: string
  readonly commit?: string
  readonly externalSessionId?: string
}

export interface SessionCounts {
  readonly sessionId: string
  readonly agent: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly eventCount: number
  readonly deduplicatedEventCount: number
  readonly messages: number
  readonly fileEdits: number
  readonly toolCalls: number
  readonly usage: Readonly<Record<string, number>>
  readonly skippedLines: number
}

export interface SessionUploadStatus {
  readonly uploadId: string
  readonly phase: 'waiting' | 'processing' | 'encoding' | 'ready' | 'failed' | 'cancelled'
  /** Bytes. */
  readonly fileSize: number
  /** Bytes that the service has read. */
  readonly processedBytes: number
  readonly errorCode: string | null
  readonly session: SessionCounts | null
}

interface CreatedSessionUpload extends SessionUploadStatus {
  /** A secret: never printed, never stored. */
  readonly uploadUrl: string
  readonly timeoutSeconds: number
}

export interface ListedSession extends SessionCounts {
  readonly title: string | null
  readonly createdAt: string
}

export interface SessionApi {
  createUpload(file: NewSessionFile): Promise<CreatedSessionUpload>
  getUpload(uploadId: string): Promise<SessionUploadStatus>
  cancelUpload(uploadId: string): Promise<void>
  associate(project: string, sessionId: string): Promise<void>
  /** The newest sessions, at most 100. */
  list(limit: number): Promise<readonly ListedSession[]>
  remove(sessionId: string): Promise<void>
}

export function createSessionApi(send: Send): SessionApi {
  return {
    createUpload: (file) => send('POST', UPLOADS, file),
    getUpload: (uploadId) => send('GET', `${UPLOADS}/${uploadId}`),
    cancelUpload: async (uploadId) => void (await send('DELETE', `${UPLOADS}/${uploadId}`)),
    associate: async (project, sessionId) =>
      void (await send('POST', `/v3/rest/projects/${encodeURIComponent(project)}/agent-sessions`, {
        sessionId,
      })),
    list: async (limit) => (await send<{ data: ListedSession[] }>('GET', `${SESSIONS}?limit=${limit}`)).data,
    remove: async (sessionId) => void (await send('DELETE', `${SESSIONS}/${encodeURIComponent(sessionId)}`)),
  }
}
