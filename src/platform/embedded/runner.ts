/**
 * As whom PostgreSQL runs. It refuses to run as root, so a start as root (containers, small machines) needs another way:
 *
 * 1. `setpriv`: an unprivileged user of this machine, who must be able to reach the programs and the data folder;
 * 2. `unshare --user`: a user namespace in which root has the number of an ordinary user and stays the owner of its
 *    files, so folders such as /root work; many containers do not allow it;
 * 3. `setpriv` with a copy of the programs beside the data, where only the programs are out of reach.
 *
 * The rule: a way is chosen by trying it, and data that exists decides which is tried first.
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
  /** Of the server: its data, its log, and its socket where the path is short enough. */
  readonly home: string
  readonly data: string
  readonly socket: string
}

export interface Runner {
  /** Goes before every PostgreSQL command. */
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
 * Finds a way that works, and gives the folders to its user.
 * @throws StartError naming the folder that nobody but root can reach
 */
export async function chooseRunner(folders: Folders, binaries: Binaries): Promise<Runner> {
  const { ways, trusted } = candidates(folders)
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

/** The ways to try, the likeliest first, and the users whose folders are ours. */
function candidates({ data }: Folders): { readonly ways: readonly Candidate[]; readonly trusted: number[] } {
  const uid = process.geteuid?.() ?? 0
  if (uid !== 0)
    return { ways: [{ prefix: [], owner: { uid, gid: process.getegid?.() ?? uid } }], trusted: [uid] }
  const nobody = userNamed('nobody') ?? { uid: 65_534, gid: 65_534 }
  const owner = userNamed('postgres') ?? nobody
  const user = {
    owner,
    prefix: ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--'],
  }
  const namespace = {
    owner: ROOT,
    prefix: ['unshare', '--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--'],
  }
  const madeByRoot = statSync(join(data, 'PG_VERSION'), { throwIfNoEntry: false })?.uid === 0
  return { ways: madeByRoot ? [namespace, user] : [user, namespace], trusted: [0, owner.uid] }
}

function userNamed(name: string): Owner | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}

/** Runs the server's `--version` and looks at the folders in the candidate's way. Resolves with what failed, or null. */
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

/** Changes the owner of a whole data folder: it was moved here, or was made by a start in another way. */
function giveTo(owner: Owner, path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined || process.geteuid?.() !== 0) return
  if (stat.isDirectory()) for (const entry of readdirSync(path)) giveTo(owner, join(path, entry))
  if (!stat.isSymbolicLink()) chownSync(path, owner.uid, owner.gid)
}
