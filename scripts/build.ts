/**
 * `bun run build [FILE]`: builds one executable, `dist/earshot` or FILE, for this platform. It contains the command line with the service,
 * the entries of its threads, SQL, Swagger UI, the console and the PostgreSQL programs.
 *
 * The executable reads no other file of the source tree at run time. This script imports built-in modules only.
 */
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installDependencies } from './install.ts'

const ROOT = resolve(import.meta.dir, '..')

/** Level 19 would take a minute and save one seventh. */
const COMPRESSION_LEVEL = 12

/** Files that a server needs. The rest of the package is for compiling against PostgreSQL. */
const isNeeded = (path: string) =>
  /^(?:bin|lib|share)\//.test(path) && !/\.a$|^lib\/pkgconfig\/|^lib\/postgresql\/pgxs\//.test(path)

/** Builds the executable. @returns its path */
export async function build(outfile = join(ROOT, 'dist', 'earshot')): Promise<string> {
  const work = `${outfile}.build-${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    const archives = await Promise.all([packPostgres(work), packConsole(work)])
    const threads = ['workers/actor.worker.ts', 'workers/request.worker.ts']
    await compile(['src/cli.ts', ...threads, ...archives], join(work, 'earshot'))
    // Replaces the file as a whole, because a running executable must not be written to.
    renameSync(join(work, 'earshot'), outfile)
    return outfile
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** @param entries paths of the program, its threads and the files to embed; relative ones start at the root */
async function compile(entries: readonly string[], outfile: string): Promise<void> {
  const result = await Bun.build({
    // Entries keep their path from the root, by which the service finds its threads.
    root: ROOT,
    entrypoints: entries.map((path) => resolve(ROOT, path)),
    target: 'bun',
    format: 'esm',
    // Otherwise each start of the service, of a thread and of a text process parses the code again.
    bytecode: true,
    // The HTTP library reads some names of functions and classes, and the OAuth server compares those of its classes.
    minify: { whitespace: true, syntax: true, identifiers: false, keepNames: true },
    sourcemap: 'inline',
    naming: { asset: '[name].[ext]' },
    loader: { '.zst': 'file' },
    compile: { outfile, autoloadBunfig: false },
  })
  for (const message of result.logs) console.error(message)
  if (!result.success) throw new Error('the build failed')
}

/** The PostgreSQL programs of this platform as `postgres-<version>.tar.zst`. */
async function packPostgres(folder: string): Promise<string> {
  const { findBinaries } = await import('../src/platform/embedded/binaries.ts')
  const { folder: source, version } = await findBinaries(folder)
  const names = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(isNeeded).sort()
  const list = join(folder, 'files')
  await Bun.write(list, names.join('\n'))
  // The system's tar, because it keeps links and permissions.
  const tar = Bun.spawnSync(['tar', '--create', '--no-recursion', '-C', source, '-T', list], {
    maxBuffer: 2 ** 30,
  })
  if (!tar.success) throw new Error(`tar: ${tar.stderr}`)
  const archive = join(folder, `postgres-${version}.tar.zst`)
  await Bun.write(archive, await Bun.zstdCompress(tar.stdout, { level: COMPRESSION_LEVEL }))
  return archive
}

/** The bundled console as one file. */
async function packConsole(folder: string): Promise<string> {
  const [{ bundleConsole }, { ARCHIVE }] = await Promise.all([
    import('../src/console/bundle.ts'),
    import('../src/console/files.ts'),
  ])
  const archive = join(folder, ARCHIVE)
  await Bun.write(archive, await Bun.zstdCompress(JSON.stringify(await bundleConsole())))
  return archive
}

if (import.meta.main) {
  installDependencies({ need: 'service' })
  console.log(await build(process.argv[2]))
}
