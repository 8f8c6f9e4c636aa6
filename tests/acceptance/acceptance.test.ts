/**
 * The acceptance tests against the source tree and against the executable, each on an empty data folder. With `BASE_URL` and
 * `CREDENTIALS` (path of a `credentials.json`) they run against that service instead, wherever it is:
 *
 *     BASE_URL=http://localhost:3000 CREDENTIALS=.data/credentials.json bun test tests/acceptance
 */

import { afterAll, describe } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EARSHOT_SOURCE, executable } from '../support/executable.ts'
import { type Service, useServices } from '../support/process.ts'
import { describeService, type Target } from './assertions.ts'

const { BASE_URL, CREDENTIALS } = process.env

const readCredentials = (file: string) => JSON.parse(readFileSync(file, 'utf8'))

/** Starts the service on a folder of its own when the tests begin, and ends it with them. */
function startedHere(title: string, command: () => readonly string[]) {
  describe(title, () => {
    let service: Service | undefined
    afterAll(async () => {
      await service?.kill()
    })
    const services = useServices()
    describeService('acceptance', async (): Promise<Target> => {
      service = await services.start({ command: command() })
      const file = join(services.folder, 'data', 'credentials.json')
      return { baseUrl: service.baseUrl, credentials: readCredentials(file) }
    })
  })
}

if (BASE_URL !== undefined && CREDENTIALS !== undefined) {
  describeService(`acceptance of ${BASE_URL}`, async () => ({
    baseUrl: BASE_URL.replace(/\/+$/, ''),
    credentials: readCredentials(CREDENTIALS),
  }))
} else {
  startedHere('source tree', () => [...EARSHOT_SOURCE, 'serve'])
  startedHere('executable', () => [executable()])
}
