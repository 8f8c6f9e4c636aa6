/**
 * `earshot agent-session`: uploads, lists and deletes sessions of coding agents, over HTTP.
 *
 * Files are sent one after the other and read from the disk as they are sent, whatever their size. The format is found by
 * the first lines, before anything is sent. A failed file does not stop the others.
 */
import { ClientError } from '../client/failures.ts'
import { createSender } from '../client/requests.ts'
import { createResumeStore, resumeFolder } from '../client/resume-records.ts'
import { createSessionApi, type ListedSession, type SessionCounts } from '../client/session-api.ts'
import {
  type SessionLabels,
  type SessionUploadDeps,
  sendSessionFile,
  sessionResumeKey,
  waitForSession,
} from '../client/session-upload.ts'
import type { SourceFile } from '../client/source-file.ts'
import { FORMATS, type Format } from '../hear/coding-sessions/event.rules.ts'
import { detectFormat } from '../hear/coding-sessions/formats/detect.rules.ts'
import { MAX_RECORD_BYTES, recordsOf } from '../hear/coding-sessions/records.rules.ts'
import { type Input, Interrupted, type Output, UsageError } from './command.ts'
import { pairs, table } from './output.ts'
import { credentialOf, findAll, serviceUrl, untilSignal } from './remote.ts'
import { createDisplay, createRate, type Display, phaseLine, transferLine } from './upload-progress.ts'

const DETECT_BYTES = 1024 * 1024
const MAX_LISTED = 100

interface Result {
  readonly file: string
  readonly status: 'stored' | 'sent' | 'failed'
  readonly uploadId: string | null
  readonly session: SessionCounts | null
  readonly error: { readonly code: string; readonly message: string } | null
}

interface Job {
  readonly deps: SessionUploadDeps
  readonly display: Display
  readonly labels: Omit<SessionLabels, 'format'>
  readonly project: string | null
  readonly waits: boolean
  readonly signal: AbortSignal
}

/** @throws UsageError; Interrupted */
export function uploadAgentSessions(input: Input): Promise<Output> {
  return remotely(input, async (deps, display, signal) => {
    const labels = labelsOf(input)
    const files: (readonly [SourceFile, Format])[] = []
    for (const file of await findAll(input.rest)) files.push([file, await formatOf(input, file)])
    const waits = !input.has('no-wait')
    if (!waits && input.flag('project') !== undefined)
      throw new UsageError('--project needs the session: leave --no-wait out')
    const job = { deps, display, labels, project: input.flag('project') ?? null, waits, signal }
    const results: Result[] = []
    for (const [file, format] of files) results.push(await uploadOne(job, file, format))
    return outputOf(results)
  })
}

export function listAgentSessions(input: Input): Promise<Output> {
  return remotely(input, async ({ api }) => {
    const sessions = await api.list(MAX_LISTED)
    const columns = {
      id: (row: ListedSession) => row.sessionId,
      agent: (row: ListedSession) => row.agent,
      title: (row: ListedSession) => row.title ?? '',
      messages: (row: ListedSession) => row.messages,
      started: (row: ListedSession) => row.startedAt ?? '',
    }
    return { json: { sessions }, lines: table(sessions, columns, 'no sessions') }
  })
}

export function deleteAgentSession(input: Input): Promise<Output> {
  return remotely(input, async ({ api }) => {
    const sessionId = input.arg('session')
    await api.remove(sessionId).catch((error: unknown) => {
      throw error instanceof ClientError && error.status === 404
        ? new UsageError(`there is no such session: ${sessionId}`)
        : error
    })
    return { json: { sessionId, deleted: true }, lines: [`deleted ${sessionId}`] }
  })
}

async function remotely(
  input: Input,
  work: (deps: SessionUploadDeps, display: Display, signal: AbortSignal) => Promise<Output>,
): Promise<Output> {
  const url = serviceUrl(input)
  const credential = credentialOf(input)
  const display = createDisplay(process.stderr, () => performance.now())
  using stop = untilSignal()
  const onRetry = (reason: string, waitMs: number) =>
    display.say('earshot', `${reason}; again in ${(waitMs / 1000).toFixed(1)} s`)
  const retry = { signal: stop.signal, onRetry }
  const resumeStore = createResumeStore(resumeFolder(input.env))
  const api = createSessionApi(createSender(url, credential, retry))
  try {
    return await work({ api, resumeStore, url, retry }, display, stop.signal)
  } catch (error) {
    if (stop.signal.aborted) throw new Interrupted('interrupted: repeat the command to resume')
    throw error
  } finally {
    display.end()
  }
}

/** @throws UsageError */
function labelsOf(input: Input): Omit<SessionLabels, 'format'> {
  const names = ['title', 'agent', 'repo', 'branch', 'commit'] as const
  const externalSessionId = input.flag('external-id')
  if (input.rest.length > 1 && (input.flag('title') ?? externalSessionId) !== undefined)
    throw new UsageError('--title and --external-id apply to one session: give one file')
  const given = names.flatMap((name) => {
    const value = input.flag(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(given), ...(externalSessionId === undefined ? {} : { externalSessionId }) }
}

/** The format of `--format`, or of the first lines. @throws UsageError */
async function formatOf(input: Input, file: SourceFile): Promise<Format> {
  const named = input.flag('format')
  const known = FORMATS.find((format) => format === named)
  if (named !== undefined && known === undefined)
    throw new UsageError(`--format is ${JSON.stringify(named)}, but must be ${FORMATS.join(', ')}`)
  const format = known ?? (await detect(file, DETECT_BYTES)) ?? (await detect(file, MAX_RECORD_BYTES))
  if (format === null)
    throw new UsageError(`${file.name}: not a session file of a known agent; --format names the format`)
  return format
}

async function detect(file: SourceFile, bytes: number): Promise<Format | null> {
  try {
    const end = Math.min(file.size, bytes)
    const text = await new Response(file.read(0, end, () => {})).text()
    return detectFormat(recordsOf(text).filter((record) => record !== null))
  } catch (error) {
    throw error instanceof ClientError ? new UsageError(error.message) : error
  } finally {
    await file.close()
  }
}

async function uploadOne(job: Job, file: SourceFile, format: Format): Promise<Result> {
  const { deps, display, signal } = job
  const labels = { ...job.labels, format }
  const nothing = { file: file.path, uploadId: null, session: null, error: null }
  let uploadId: string | null = null
  display.focus(file.name)
  try {
    uploadId = await send(job, file, labels)
    if (!job.waits) {
      display.say(file.name, 'sent')
      return { ...nothing, uploadId, status: 'sent' }
    }
    const session = await waitForSession(deps, uploadId, ({ phase, processedBytes, fileSize }) => {
      const encodeProgress = phase === 'processing' ? Math.floor((100 * processedBytes) / fileSize) : null
      display.show(file.name, phaseLine({ phase, encodeProgress }))
    })
    if (job.project !== null) await deps.api.associate(job.project, session.sessionId)
    await deps.resumeStore.drop(sessionResumeKey(deps.url, file, labels))
    display.say(file.name, 'stored')
    return { ...nothing, uploadId, session, status: 'stored' }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof ClientError)) throw error
    display.fail(file.name, error.message)
    const { code, message } = error
    return { ...nothing, uploadId, status: 'failed', error: { code, message } }
  }
}

async function send({ deps, display }: Job, file: SourceFile, labels: SessionLabels): Promise<string> {
  const rate = createRate()
  try {
    return await sendSessionFile(deps, file, labels, (sent) => {
      rate.add(performance.now(), sent)
      display.show(file.name, transferLine({ sent, total: file.size, rate: rate.perSecond() }))
    })
  } finally {
    await file.close()
  }
}

function outputOf(results: readonly Result[]): Output {
  const lines = results.flatMap((result, index) => [
    ...(index > 0 ? [''] : []),
    ...pairs({ file: result.file, status: result.status, ...countsOf(result) }),
  ])
  return { json: { uploads: results }, lines, failed: results.some(({ status }) => status === 'failed') }
}

function countsOf({ uploadId, session }: Result): Record<string, unknown> {
  const upload = uploadId === null ? {} : { upload: uploadId }
  if (session === null) return upload
  return {
    ...upload,
    session: session.sessionId,
    agent: session.agent,
    events: `${session.eventCount}, ${session.deduplicatedEventCount} of this file were known`,
    messages: session.messages,
    'tool calls': session.toolCalls,
    'file edits': session.fileEdits,
    'skipped lines': session.skippedLines,
  }
}
