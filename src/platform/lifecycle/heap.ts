/**
 * How much garbage the engine leaves lying, which it derives from the memory of the whole machine: in a container of 512 MB on a machine of
 * 64 GB too much. It reads the variable only when a program starts.
 */
const VARIABLE = 'BUN_JSC_forceRAMSize'

/** For a program of this runtime. Null: as the engine derives it. */
export function heapEnvironment(bytes: number | null): Readonly<Record<string, string>> {
  return bytes === null ? {} : { [VARIABLE]: String(bytes) }
}

/** Starts this program once more in the same process (`execve`), unless it was started so. Returns where that is not needed. */
export function limitHeap(bytes: number | null, env: Readonly<Record<string, string | undefined>>): void {
  if (bytes === null || env[VARIABLE] !== undefined || process.execve === undefined) return
  const script = Bun.isStandaloneExecutable ? [] : [...process.execArgv, ...process.argv.slice(1, 2)]
  process.execve(process.execPath, [process.execPath, ...script, ...process.argv.slice(2)], {
    ...env,
    ...heapEnvironment(bytes),
  })
}
