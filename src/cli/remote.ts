/** What commands for a remote service share: its address, the credential, the files, and the end by a signal. */
import { ClientError } from '../client/failures.ts'
import type { Credential } from '../client/requests.ts'
import { findSourceFile, type SourceFile } from '../client/source-file.ts'
import { oneLine } from '../platform/lifecycle/start-error.ts'
import { trimEndOf } from '../platform/validation/trim.ts'
import { type Input, UsageError } from './command.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** @throws UsageError */
export function serviceUrl(input: Input): string {
  const text = input.flag('url') ?? input.env.EARSHOT_URL ?? 'http://localhost:3000'
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '')
    throw new UsageError(
      '--url must be http:// or https:// with a host and an optional path, without credentials',
    )
  return trimEndOf(url.href, '/')
}

/** A flag takes precedence over variables. @throws UsageError */
export function credentialOf({ env, flag }: Input): Credential {
  const [key, token] = [flag('key'), flag('token')]
  if (key !== undefined && token !== undefined) throw new UsageError('--key and --token exclude each other')
  if (key !== undefined) return { apiKey: headerValue('--key', key) }
  if (token !== undefined) return { userToken: headerValue('--token', token) }
  if (env.EARSHOT_API_KEY) return { apiKey: headerValue('EARSHOT_API_KEY', env.EARSHOT_API_KEY) }
  if (env.EARSHOT_USER_TOKEN) return { userToken: headerValue('EARSHOT_USER_TOKEN', env.EARSHOT_USER_TOKEN) }
  throw new UsageError('no credential: set EARSHOT_API_KEY, or create a key with earshot api-key create')
}

export function headerValue(name: string, value: string): string {
  if (/^[\x21-\x7e]+$/.test(value.trim())) return value.trim()
  throw new UsageError(`${name} does not have the form of a credential`)
}

/** Finds all files before the first is sent, so that a missing one stops the command early. @throws UsageError */
export async function findAll(names: readonly string[]): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = []
  for (const name of names) {
    const file = await findSourceFile(name).catch((error: unknown) => {
      throw error instanceof ClientError ? new UsageError(oneLine(error)) : error
    })
    if (files.some(({ path }) => path === file.path)) throw new UsageError(`${name} is given twice`)
    files.push(file)
  }
  return files
}

/** Aborts at the first signal. The second signal ends the process as usual. */
export function untilSignal() {
  const controller = new AbortController()
  const abort = () => controller.abort(new Error('interrupted'))
  for (const name of SIGNALS) process.once(name, abort)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, abort)
    },
  }
}
