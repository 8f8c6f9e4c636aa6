/**
 * A worker process for recordings that transcribes with the command from its environment.
 *
 * Arguments: URL of the database, data folder. Only a signal ends it.
 */
import { createRuntime } from '../../../src/actors/runtime.ts'
import { loadConfig } from '../../../src/app/config.ts'
import { createContainer } from '../../../src/app/container.ts'
import { recordingActor } from '../../../src/calls/processing/actor.ts'
import { transcriptionActor } from '../../../src/calls/transcribe/actor.ts'
import { CRASH_OPTIONS } from '../../crash/support/options.ts'

const [database = '', dataDir = ''] = process.argv.slice(2)

const config = loadConfig({
  TRANSCRIBE_COMMAND: process.env.TRANSCRIBE_COMMAND,
  PATH: process.env.PATH,
  DATA_DIR: dataDir,
  LOG_LEVEL: 'silent',
})
const container = createContainer(config, { database: { url: database }, redis: null }, 'test-worker')
await createRuntime(
  container,
  [recordingActor(container), transcriptionActor(container)],
  CRASH_OPTIONS,
).start()
