/** The bundled console: out of the executable, or bundled now from the sources. */
import type { ConsoleFiles } from './bundle.ts'

/** `scripts/build.ts` writes this file. */
export const ARCHIVE = 'console.zst'
const NAME = /^(?:.*\/)?console\.zst$/

let loaded: Promise<ConsoleFiles> | null = null

/** Loads with the first call and keeps the result. A failure is not kept. */
export function consoleFiles(): Promise<ConsoleFiles> {
  loaded ??= load().catch((error) => {
    loaded = null
    throw error
  })
  return loaded
}

async function load(): Promise<ConsoleFiles> {
  const embedded = Bun.embeddedFiles.find((file) =>
    NAME.test((file as { readonly name?: string }).name ?? ''),
  )
  if (embedded === undefined) return (await import('./bundle.ts')).bundleConsole()
  return JSON.parse(
    new TextDecoder().decode(await Bun.zstdDecompress(await embedded.bytes())),
  ) as ConsoleFiles
}
