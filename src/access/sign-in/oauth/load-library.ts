/** Loads the library of the authorization server. */
import type { Log } from '../../../platform/observability/log.ts'

type Library = typeof import('oidc-provider')

/** The library is not made for this runtime, which is known: see docs/decisions/0006-sign-in.md. */
export const KNOWN_WARNING = 'oidc-provider WARNING: Unsupported runtime.'

/** The known warning goes to the log, which is JSON. Whatever else is written to the console meanwhile stays there. */
export async function loadLibrary(
  log: Pick<Log, 'debug'>,
  load: () => Promise<Library> = () => import('oidc-provider'),
): Promise<Library> {
  const { warn } = console
  console.warn = (...values: unknown[]) => {
    const [text] = values
    if (typeof text === 'string' && text.includes(KNOWN_WARNING))
      log.debug({ text }, 'the authorization server was loaded')
    else warn.apply(console, values)
  }
  try {
    return await load()
  } finally {
    console.warn = warn
  }
}
