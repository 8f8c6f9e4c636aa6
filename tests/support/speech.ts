/** Sound to transcribe, made by espeak-ng and ffmpeg, and a server that speaks the protocol of OpenAI. */
import { spawnSync } from 'node:child_process'

/** Runs a program of the machine. @returns what it printed. @throws Error with what it complained about */
function runTool(program: string, ...options: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, options)
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr.toString()}`)
  return stdout.toString()
}

/** Makes a file of any form by ffmpeg. */
export const makeMedia = (...options: readonly string[]) => runTool('ffmpeg', '-v', 'error', '-y', ...options)

/** A WAV file in which the sentence is spoken. */
export const speak = (path: string, sentence: string) =>
  runTool('espeak-ng', '-v', 'en-us', '-s', '130', '-w', path, sentence)

/** Seconds of a media file, as ffmpeg's companion measures them. */
export const secondsOf = (path: string) =>
  Number(runTool('ffprobe', '-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path))

/** One request as the server saw it. */
export interface SpeechRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
  readonly form: FormData
  readonly file: File
  /** From 1. */
  readonly number: number
}

export type SpeechAnswer = (request: SpeechRequest) => Response | Promise<Response>

export interface SpeechServer extends Disposable {
  readonly url: string
  readonly requests: readonly SpeechRequest[]
}

export function startSpeechServer(answer: SpeechAnswer): SpeechServer {
  const requests: SpeechRequest[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(raw) {
      const form = (await raw.formData()) as unknown as FormData
      const request = {
        method: raw.method,
        path: new URL(raw.url).pathname,
        authorization: raw.headers.get('authorization'),
        form,
        file: form.get('file') as File,
        number: requests.length + 1,
      }
      requests.push(request)
      return answer(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    [Symbol.dispose]: () => void server.stop(true),
  }
}
