/** Folders that only the service's user may enter, because they contain personal data or secrets. */
import { chmod, mkdir, stat } from 'node:fs/promises'

const PRIVATE = 0o700
const FOR_OTHERS = 0o077

/** Creates the folder, or removes the access of others to an existing one. The permissions of another user's folder stay unchanged. */
export async function ensurePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE })
  const { mode, uid } = await stat(folder)
  if ((mode & FOR_OTHERS) !== 0 && uid === process.geteuid?.()) await chmod(folder, PRIVATE)
}
