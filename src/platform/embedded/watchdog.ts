/**
 * Stops the embedded servers when the process that uses them is gone, even after SIGKILL to its whole process group.
 *
 * A shell in a session of its own reads from a pipe that only the watched process writes to. The kernel closes the pipe when
 * that process ends. The shell then becomes `earshot servers stop`, which stops unused servers. It needs one megabyte.
 */
import { join } from 'node:path'
import type { Log } from '../observability/log.ts'
import { SERVER_ENVIRONMENT } from './processes.ts'

export interface Watchdog {
  /** Call it after the process has stopped its servers or left them to others. Resolves when the shell has ended. */
  release(): Promise<void>
}

/** The shell ignores the signals by which a service manager ends all processes of a service, so that it ends last. */
const SCRIPT = [
  "trap '' HUP INT TERM",
  'while read -r word; do [ "$word" = release ] && exit 0; done',
  'trap - HUP INT TERM',
  'exec "$@"',
].join('\n')

const RESTART_DELAY_MS = 1_000

/** Watches this process. Call it before starting or joining the servers of the folder. */
export function startWatchdog(dataDir: string, log: Log): Watchdog {
  let released = false
  let child = spawnShell(dataDir)
  const watch = () =>
    void child.exited.then(async () => {
      if (released) return
      log.warn('the watchdog of the embedded servers ended: starting it again')
      await Bun.sleep(RESTART_DELAY_MS)
      if (released) return
      child = spawnShell(dataDir)
      watch()
    })
  watch()
  return {
    async release() {
      released = true
      try {
        child.stdin.write('release\n')
        await child.stdin.end()
      } catch {
        // The shell has ended.
      }
      await child.exited
    },
  }
}

function spawnShell(dataDir: string) {
  const child = Bun.spawn(['/bin/sh', '-c', SCRIPT, 'earshot-watchdog', ...stopCommand(dataDir)], {
    cwd: '/',
    env: SERVER_ENVIRONMENT,
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
    detached: true,
  })
  // The child must not keep a command running.
  child.unref()
  return child
}

/** `earshot servers stop` for the folder, by this executable or from source. */
function stopCommand(dataDir: string): readonly string[] {
  const program = Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, join(import.meta.dir, '../../cli.ts')]
  return ['/usr/bin/env', `DATA_DIR=${dataDir}`, ...program, 'servers', 'stop']
}
