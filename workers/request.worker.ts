/**
 * The entry of a thread that works on requests (src/platform/concurrency). Its path is known to `request-work.ts` and to the build,
 * which embeds it.
 */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { prepareRecordingWork } from '../src/calls/recordings/work.ts'
import { readOutputWork } from '../src/calls/transcribe/read-output.ts'
import { patternsWork, previewWork } from '../src/hear/agents/events/redaction.ts'
import { createIngestWork } from '../src/hear/agents/ingest/work.ts'
import { createReadWork } from '../src/hear/coding-sessions/read.ts'
import { createTraceWork } from '../src/hear/otlp/work.ts'
import { parseBodyWork } from '../src/http/parse-body.ts'
import { serveWork } from '../src/platform/concurrency/work-thread.ts'

if (parentPort === null) throw new Error('this file is the entry of a thread')

// Gives the HTTP thread priority. Only Linux has priorities for threads; elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(0, 10)

const { judge, fingerprints, bodies } = createIngestWork()
serveWork(parentPort, [
  parseBodyWork,
  judge,
  fingerprints,
  bodies,
  patternsWork,
  previewWork,
  readOutputWork,
  prepareRecordingWork,
  createTraceWork(),
  ...Object.values(createReadWork()),
])
