/**
 * A worker process for recordings whose public internet is the loopback interface.
 *
 * Arguments: URL of the database, DNS server, folder of data, and the path of an FFmpeg where it is not to be the usual one. A signal is the only way to end it.
 */
import { createRuntime } from '../../../src/actors/runtime.ts'
import { loadConfig } from '../../../src/app/config.ts'
import { createContainer } from '../../../src/app/container.ts'
import { recordingActor } from '../../../src/calls/processing/actor.ts'
import { CRASH_OPTIONS } from '../../crash/support/options.ts'
import { localInternet } from '../../support/media.ts'

const [database = '', dns = '', dataDir = '', ffmpeg = ''] = process.argv.slice(2)

const config = loadConfig({ DATA_DIR: dataDir, FFMPEG_PATH: ffmpeg, LOG_LEVEL: 'silent' })
const container = createContainer(config, { database: { url: database }, redis: null }, 'test-worker')
const actor = recordingActor(container, { fetchPublic: localInternet(dns) })
await createRuntime(container, [actor], CRASH_OPTIONS).start()
