/** A process that may use one processor of several starts one worker thread. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { EARSHOT } from '../support/executable.ts'
import { useServices } from '../support/process.ts'

setDefaultTimeout(300_000)

const services = useServices()

test.skipIf(process.platform !== 'linux')(
  'worker threads are as many as the process has processors',
  async () => {
    const service = await services.start({
      command: ['taskset', '--cpu-list', '0', ...EARSHOT, 'serve'],
      // As if it were not set.
      env: { WORKER_THREADS: '' },
    })
    expect(service.output()).toMatch(/^ +1 worker thread$/m)
    expect(await service.kill()).toBe(0)
  },
)
