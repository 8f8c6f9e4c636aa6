/**
 * The user who runs PostgreSQL. PostgreSQL refuses to run as root, so a start as root (containers, small machines) tries:
 *
 * 1. `setpriv`: an unprivileged user of this machine, who must be able to reach the programs and the data folder;
 * 2. `unshare --user`: a user namespace in which root has the number of an ordinary user and remains the owner of its
 *    files, so that folders such as /root work; many containers forbid it;
 * 3. `setpriv` with a copy of the programs next to the data, if only the programs cannot be reached.
 *
 * Each way is tried in turn. Existing data decides which comes first.
 *
 * PostgreSQL creates no database for a user without a name (`docker run --user 12345`, OpenShift). Such a user tries the second way first.
 */
import { chownSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../lifecycle/start-error.ts'
import { type Binaries, copyBinaries } from './binaries.ts'
import { run } from './processes.ts'
import { type Owner, privateFolder } from './socket-folder.ts'

/** The folders of one embedded server. */
export interface Folders {
  /** DATA_DIR. */
  readonly root: string
  /** Holds the server's data and log, and its socket if the path is short enough. */
  readonly home: string
  readonly data: string
  readonly socket: string
}

export interface Runner {
  /** Precedes every PostgreSQL command. */
  readonly prefix: readonly string[]
  readonly owner: Owner
  readonly binaries: Binaries
}

interface Candidate {
  readonly prefix: readonly string[]
  readonly owner: Owner
}

const ROOT: Owner = { uid: 0, gid: 0 }

/**
 * Finds a working way and gives the folders to its user.
 * @throws StartError that names the folder that only root can reach
 */
export async function chooseRunner(folders: Folders, binaries: Binaries): Promise<Runner> {
  const { ways, trusted } = await candidates(folders)
  for (const way of ways) {
    if ((await attempt(way, folders, binaries, trusted)) === null) return { ...way, binaries }
  }
  const copy = await copyBinaries(binaries, folders.root)
  const way = ways.find(({ owner }) => owner.uid !== 0) as Candidate
  const failure = await attempt(way, folders, copy, trusted)
  if (failure === null) return { ...way, binaries: copy }
  rmSync(copy.folder, { recursive: true, force: true })
  throw new StartError(
    process.geteuid?.() === 0
      ? `DATA_DIR is ${JSON.stringify(folders.root)}, which only root can reach, and PostgreSQL refuses to run as root: ` +
          'choose a DATA_DIR that other users may pass through, such as /var/lib/earshot, or start as another user'
      : `The embedded PostgreSQL cannot run here (${failure}): set DATABASE_URL`,
  )
}

/** The ways to try, most likely first, and the users whose folders are trusted. */
async function candidates({
  data,
}: Folders): Promise<{ readonly ways: readonly Candidate[]; readonly trusted: number[] }> {
  const uid = process.geteuid?.() ?? 0
  const nobody = userNamed('nobody') ?? { uid: 65_534, gid: 65_534 }
  if (uid !== 0) {
    const plain = { prefix: [], owner: { uid, gid: process.getegid?.() ?? uid } }
    const ways = (await hasName(uid)) ? [plain] : [{ ...plain, prefix: asUser(nobody) }, plain]
    return { ways, trusted: [uid] }
  }
  const owner = userNamed('postgres') ?? nobody
  const user = {
    owner,
    prefix: ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--'],
  }
  const namespace = {
    owner: ROOT,
    prefix: asUser(nobody),
  }
  const madeByRoot = statSync(join(data, 'PG_VERSION'), { throwIfNoEntry: false })?.uid === 0
  return { ways: madeByRoot ? [namespace, user] : [user, namespace], trusted: [0, owner.uid] }
}

/** In a user namespace, in which this user has the number of another one. */
const asUser = ({ uid, gid }: Owner): readonly string[] => [
  'unshare',
  '--user',
  `--map-user=${uid}`,
  `--map-group=${gid}`,
  '--',
]

/** Asks the system, because not every user is in /etc/passwd. */
export async function hasName(uid: number): Promise<boolean> {
  return (await run(['id', '-un', String(uid)], '/')).ok
}

function userNamed(name: string): Owner | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}

/** Runs the server's `--version` and checks the folders as the candidate. Resolves with the failure, or null. */
async function attempt(
  { prefix, owner }: Candidate,
  { home, data, socket }: Folders,
  { folder }: Binaries,
  trusted: readonly number[],
): Promise<string | null> {
  privateFolder(home, owner, trusted)
  privateFolder(socket, owner, trusted)
  const script = '"$1" --version && "$2" --version && test -w "$3" -a -x "$3" && test -w "$4" -a -x "$4"'
  const programs = [join(folder, 'bin', 'postgres'), join(folder, 'bin', 'initdb')]
  const { ok, output } = await run([...prefix, '/bin/sh', '-c', script, 'sh', ...programs, home, socket], '/')
  if (!ok) return output.split('\n').at(-1) || `${home} cannot be written`
  if (statSync(data, { throwIfNoEntry: false })?.uid !== owner.uid) giveTo(owner, data)
  return null
}

/** Changes the owner of a whole data folder that was moved here or created in another way. */
function giveTo(owner: Owner, path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || process.geteuid?.() !== 0) return
  if (stat.isDirectory()) for (const entry of readdirSync(path)) giveTo(owner, join(path, entry))
  if (!stat.isSymbolicLink()) chownSync(path, owner.uid, owner.gid)
}
