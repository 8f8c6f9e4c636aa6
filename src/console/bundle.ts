/**
 * Bundles the console for the browser. From source this happens with the first request of a page; `bun run build` puts the result
 * into the executable.
 */
import { join } from 'node:path'

const ENTRY = join(import.meta.dir, 'app/main.tsx')

/** Files by name. A name contains a hash of the content, so a browser may keep the file for ever. */
export interface ConsoleFiles {
  /** The script and the style sheet of the page. */
  readonly script: string
  readonly style: string
  readonly files: Readonly<Record<string, string>>
}

/** @throws Error if the bundler refuses the sources */
export async function bundleConsole(): Promise<ConsoleFiles> {
  const result = await Bun.build({
    entrypoints: [ENTRY],
    target: 'browser',
    format: 'esm',
    // Charts and the player are loaded by the pages that need them.
    splitting: true,
    minify: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  })
  if (!result.success) throw new Error(`the console could not be bundled: ${result.logs.join('\n')}`)
  const files: Record<string, string> = {}
  let script = ''
  let style = ''
  for (const output of result.outputs) {
    const name = output.path.replace(/^\.?\//, '')
    files[name] = await output.text()
    if (output.kind === 'entry-point') script = name
    if (name.startsWith('main-') && name.endsWith('.css')) style = name
  }
  return { script, style, files }
}
