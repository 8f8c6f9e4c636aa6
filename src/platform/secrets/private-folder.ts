/** Folders that only the user of the service may enter: what is in them is about people, or is a secret. */
import { chmod, mkdir, stat } from 'node:fs/promises'

const PRIVATE = 0o700
const FOR_OTHERS = 0o077

/** Creates the folder, or closes an existing one to others. A folder of another user is left as its owner wants it. */
export async function ensurePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE })
  const { mode, uid } = await stat(folder)
  if ((mode & FOR_OTHERS) !== 0 && uid === process.geteuid?.()) await chmod(folder, PRIVATE)
}
