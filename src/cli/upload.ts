/**
 * `earshot upload`: sends files one after the other, so that each gets the whole bandwidth. The service processes earlier
 * files meanwhile.
 *
 * A failed file does not stop the others. A repeated command skips finished work: the resume records of all files are kept
 * until every file has succeeded.
 */

import { createApi } from '../client/api.ts'
import { ClientError } from '../client/failures.ts'
import { createResumeStore, type ResumeStore, resumeFolder } from '../client/resume-records.ts'
import type { SourceFile } from '../client/source-file.ts'
import {
  resumeKey,
  type Sent,
  sendUpload,
  type UploadDeps,
  type UploadRequest,
  waitUntilReady,
} from '../client/upload.ts'
import { type Input, Interrupted, type Output, UsageError } from './command.ts'
import { pairs } from './output.ts'
import { credentialOf, findAll, serviceUrl, untilSignal } from './remote.ts'
import { createDisplay, createRate, type Display, phaseLine, transferLine } from './upload-progress.ts'

interface Result {
  readonly file: string
  readonly status: 'ready' | 'sent' | 'failed'
  readonly recordingId: string | null
  readonly uploadId: string | null
  readonly url: string | null
  readonly durationSeconds: number | null
  readonly error: { readonly code: string; readonly message: string } | null
}

interface Job {
  readonly deps: UploadDeps
  readonly resumeStore: ResumeStore
  readonly display: Display
  readonly request: UploadRequest
  readonly waits: boolean
  readonly signal: AbortSignal
}

/** @throws UsageError; Interrupted */
export async function upload(input: Input): Promise<Output> {
  const url = serviceUrl(input)
  const credential = credentialOf(input)
  const request = requestOf(input)
  const files = await findAll(input.rest)
  const display = createDisplay(process.stderr, () => performance.now())
  using stop = untilSignal()
  const onRetry = (reason: string, waitMs: number) =>
    display.say('earshot', `${reason}; again in ${(waitMs / 1000).toFixed(1)} s`)
  const retry = { signal: stop.signal, onRetry }
  const resumeStore = createResumeStore(resumeFolder(input.env))
  const deps = { api: createApi(url, credential, retry), resumeStore, url, retry }
  try {
    const job = { deps, resumeStore, display, request, waits: !input.has('no-wait'), signal: stop.signal }
    return outputOf(await uploadAll(job, files))
  } catch (error) {
    if (stop.signal.aborted) throw new Interrupted('interrupted: repeat the command to resume')
    throw error
  } finally {
    display.end()
  }
}

async function uploadAll(job: Job, files: readonly SourceFile[]): Promise<readonly Result[]> {
  const underway: Promise<Result>[] = []
  for (const file of files) {
    job.display.focus(file.name)
    const sent = await send(job, file)
    underway.push(
      'recordingId' in sent ? follow(job, file, sent) : Promise.resolve(failed(file, sent.error, null)),
    )
    // The loop below awaits it. Until then a failure must not count as unhandled.
    underway.at(-1)?.catch(() => {})
  }
  const results: Result[] = []
  for (const [index, file] of files.entries()) {
    job.display.focus(file.name)
    const result = await underway[index]
    if (result !== undefined) results.push(result)
  }
  const isThrough = results.every(({ status }) => status !== 'failed')
  for (const file of isThrough ? files : [])
    await job.resumeStore.drop(resumeKey(job.deps.url, file, job.request))
  return results
}

async function send(job: Job, file: SourceFile): Promise<Sent | { readonly error: ClientError }> {
  const rate = createRate()
  try {
    return await sendUpload(job.deps, file, job.request, (sent) => {
      rate.add(performance.now(), sent)
      job.display.show(file.name, transferLine({ sent, total: file.size, rate: rate.perSecond() }))
    })
  } catch (error) {
    const failure = clientErrorOf(error, job)
    job.display.fail(file.name, failure.message)
    return { error: failure }
  } finally {
    await file.close()
  }
}

/** Waits until the service has processed a file whose bytes have arrived. */
async function follow({ deps, display, waits, ...job }: Job, file: SourceFile, sent: Sent): Promise<Result> {
  const result = { file: file.path, ...sent, url: null, durationSeconds: null, error: null }
  if (!waits) {
    display.say(file.name, 'sent')
    return { ...result, status: 'sent' }
  }
  try {
    const { url, durationSeconds } = await waitUntilReady(deps, sent, (status) =>
      display.show(file.name, phaseLine(status)),
    )
    display.say(file.name, 'ready')
    return { ...result, status: 'ready', url, durationSeconds }
  } catch (error) {
    const failure = clientErrorOf(error, job)
    display.fail(file.name, failure.message)
    return failed(file, failure, sent)
  }
}

/** @throws errors that do not concern one file: an interruption, a defect of this program */
function clientErrorOf(error: unknown, { signal }: Pick<Job, 'signal'>): ClientError {
  signal.throwIfAborted()
  if (error instanceof ClientError) return error
  throw error
}

function failed(file: SourceFile, { code, message }: ClientError, sent: Sent | null): Result {
  const ids = { recordingId: sent?.recordingId ?? null, uploadId: sent?.uploadId ?? null }
  const rest = { url: null, durationSeconds: null, error: { code, message } }
  return { file: file.path, status: 'failed', ...ids, ...rest }
}

function outputOf(results: readonly Result[]): Output {
  const lines = results.flatMap((result, index) => [
    ...(index > 0 ? [''] : []),
    ...pairs({
      file: result.file,
      status: result.status,
      ...(result.recordingId === null ? {} : { recording: result.recordingId }),
      ...(result.url === null ? {} : { url: result.url }),
      ...(result.durationSeconds === null ? {} : { duration: `${result.durationSeconds} s` }),
    }),
  ])
  return { json: { uploads: results }, lines, failed: results.some(({ status }) => status === 'failed') }
}

/** @throws UsageError */
function requestOf(input: Input): UploadRequest {
  const [displayName = null, externalId = null] = [input.flag('name'), input.flag('external-id')]
  if (input.rest.length > 1 && (displayName !== null || externalId !== null))
    throw new UsageError('--name and --external-id apply to one recording: give one file')
  return { displayName, externalId, folderIds: input.flags('folder'), replaces: input.has('replace') }
}
