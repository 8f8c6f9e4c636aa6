/** A process that erases organizations, as a worker does, until it is killed. */

import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { organizationMaintenance } from '../../src/app/organization-erasure.ts'

const [url = '', dataDir = ''] = process.argv.slice(2)
const config = loadConfig({ LOG_LEVEL: 'silent', DATA_DIR: dataDir, DATABASE_POOL_SIZE: '2' })
const container = createContainer(config, { database: { url }, redis: null }, 'erasure')
for (const { run } of organizationMaintenance(container)) await run(new AbortController().signal)
await container.close()
