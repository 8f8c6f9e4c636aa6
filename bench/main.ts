/** `bun run bench [name …]`: runs the named benchmarks; all by default. */
import { benchActors } from './actors.ts'
import { benchConsole } from './console.ts'
import { benchCounts } from './counts.ts'
import { benchHttp } from './http.ts'
import { benchIngest } from './ingest.ts'
import { benchInsight } from './insight.ts'
import { benchOtlp } from './otlp.ts'
import { benchReads } from './reads.ts'
import { benchRecordingsList } from './recordings-list.ts'
import { benchScale } from './scale.ts'
import { benchSearch } from './search.ts'
import { benchSmall } from './small.ts'
import { benchThemes } from './themes.ts'
import { benchTranscripts } from './transcripts.ts'
import { benchTurns } from './turns.ts'
import { benchUpload } from './upload.ts'
import { benchUploadMemory } from './upload-memory.ts'

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  actors: benchActors,
  async http() {
    await benchHttp()
    await benchReads()
  },
  reads: benchReads,
  console: benchConsole,
  counts: benchCounts,
  ingest: benchIngest,
  insight: benchInsight,
  otlp: benchOtlp,
  async recordings() {
    await benchTranscripts()
    await benchRecordingsList()
  },
  scale: benchScale,
  search: benchSearch,
  themes: benchThemes,
  turns: benchTurns,
  upload: benchUpload,
  memory: benchUploadMemory,
  small: benchSmall,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in BENCHMARKS))
if (unknown.length > 0) {
  console.error(
    `There is no benchmark ${unknown.join(', ')}. There are: ${Object.keys(BENCHMARKS).join(', ')}`,
  )
  process.exit(1)
}
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (wanted.length === 0 || wanted.includes(name)) await run()
}
process.exit(0)
