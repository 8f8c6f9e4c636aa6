/** A thread for tests of request work. */
import { parentPort } from 'node:worker_threads'
import type { Work } from '../../src/platform/concurrency/work.ts'
import { serveWork } from '../../src/platform/concurrency/work-thread.ts'
import { AppError } from '../../src/platform/errors.ts'

/** Returns the input. */
export const echo: Work<string, string> = { name: 'echo', run: (input) => input }
/** Returns a copy of the parts. */
export const echoParts: Work<Uint8Array[], Uint8Array[]> = {
  name: 'echo-parts',
  run: (input) => input.map((part) => part.slice()),
}
/** Never ends. */
export const hang: Work<null, never> = {
  name: 'hang',
  run() {
    for (;;);
  },
}
/** Ends the thread. */
export const crash: Work<null, null> = {
  name: 'crash',
  run() {
    setTimeout(() => process.exit(1))
    for (const begun = performance.now(); performance.now() - begun < 50; );
    return null
  },
}
export const refuse: Work<null, null> = {
  name: 'refuse',
  run() {
    throw new AppError('validation_failed', 'no', { details: [{ path: 'a', code: 'type', message: 'no' }] })
  },
}
/** This many units of work. */
export const spendUnits: Work<number, string> = {
  name: 'spend',
  run(units, spend) {
    spend(units)
    return Bun.isMainThread ? 'here' : 'in a thread'
  },
}

if (parentPort !== null) serveWork(parentPort, [echo, echoParts, hang, crash, refuse, spendUnits])
