/**
 * Forwards text jobs of a worker thread to the text processes of the main thread, so that all threads share two processes.
 */
import type { MessagePort } from 'node:worker_threads'
import type { TextProcesses } from './text-process.ts'
import { type TextJob, type TextJobs, type TextWork, TextWorkError } from './text-work.ts'

/** A request of the thread. The number identifies the job. */
type Asked =
  | {
      readonly number: number
      readonly job: TextJob
      readonly input: TextJobs[TextJob]['input']
      readonly organization: string | undefined
    }
  | { readonly number: number; readonly isAborted: true }

/** The main thread's answer: a value or an error message. */
type Told =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: string }

/** Text work for a thread, which sends its requests on `port`. */
export function createRemoteTextWork(port: MessagePort): TextProcesses {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  const post = (asked: Asked) => port.postMessage(asked)
  port.on('message', (told: Told) => {
    const settled = waiting.get(told.number)
    if ('error' in told) settled?.reject(new TextWorkError(told.error))
    else settled?.resolve(told.value)
  })
  return {
    async run<J extends TextJob>(
      job: J,
      input: TextJobs[J]['input'],
      signal: AbortSignal,
      organization?: string,
    ) {
      signal.throwIfAborted()
      const number = ++last
      const settled = Promise.withResolvers<unknown>()
      const abort = () => {
        post({ number, isAborted: true })
        settled.reject(signal.reason)
      }
      waiting.set(number, settled)
      signal.addEventListener('abort', abort, { once: true })
      post({ number, job, input, organization })
      try {
        return (await settled.promise) as TextJobs[J]['output']
      } finally {
        signal.removeEventListener('abort', abort)
        waiting.delete(number)
      }
    },
    close: () => port.close(),
  }
}

/** Serves the requests of a thread on `port`. @returns a function that stops serving and aborts unfinished jobs */
export function serveTextPort(port: MessagePort, textWork: TextWork): () => void {
  const running = new Map<number, AbortController>()
  const answer = async ({ number, job, input, organization }: Exclude<Asked, { isAborted: true }>) => {
    const controller = new AbortController()
    running.set(number, controller)
    const told = await textWork.run(job, input, controller.signal, organization).then(
      (value): Told => ({ number, value }),
      (error: unknown): Told => ({ number, error: error instanceof Error ? error.message : 'unknown' }),
    )
    running.delete(number)
    if (!controller.signal.aborted) port.postMessage(told)
  }
  port.on('message', (asked: Asked) => {
    if ('isAborted' in asked) running.get(asked.number)?.abort(new TextWorkError('the turn is over'))
    else void answer(asked)
  })
  return () => {
    for (const controller of running.values()) controller.abort(new TextWorkError('the thread has ended'))
    port.close()
  }
}
