/** Imports a CSV file: choose the source and the file, say what the columns mean, look at the first rows, follow the import. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Problem, type Schemas } from '../api.ts'
import { useSession } from '../context.ts'
import { MapColumns } from '../import/map-columns.tsx'
import { ImportResult } from '../import/result.tsx'
import { problemOf, useLoaded } from '../load.ts'
import { Drop, Progress } from '../parts/drop.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'
import { sendFile } from '../send-file.ts'

const IMPORTS = '/v3/rest/feedback-sources/{feedbackSourceId}/imports'
const IMPORT = '/v3/rest/feedback-sources/{feedbackSourceId}/imports/{importId}'
const POLL_MS = 700
const MOVING: readonly string[] = ['waiting', 'reading', 'importing']
const ENDED: readonly string[] = ['imported', 'failed', 'cancelled']

export function FeedbackImport() {
  const { membership } = useSession()
  const filters = useFilters()
  const importId = filters.get('import')
  return (
    <>
      <Title text="Import feedback" />
      {membership?.role !== 'administrator' ? (
        <p>Only administrators import files.</p>
      ) : importId === '' ? (
        <Choose sourceId={filters.get('source')} />
      ) : (
        <Follow sourceId={Number(filters.get('source'))} importId={importId} />
      )}
    </>
  )
}

/** The source, and the file. */
function Choose({ sourceId }: { readonly sourceId: string }) {
  const filters = useFilters()
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const sources = useLoaded('sources', (signal) =>
    contentOf(api.GET('/v3/rest/feedback-sources', { params: { query: { limit: 100 } }, signal })),
  )
  if (sources.data === null)
    return sources.state === 'failed' ? <ErrorNote problem={sources.problem} /> : <Loading />
  const all = sources.data.data
  const chosen = all.find(({ id }) => String(id) === sourceId) ?? (sourceId === 'new' ? undefined : all[0])
  const take = async (file: File) => {
    try {
      const source = chosen?.id ?? (await newSource(name.trim() || file.name.replace(/\.\w+$/, '')))
      const created = await createImport(source, file)
      started.set(created.id, file)
      filters.set('source', String(source), { import: created.id })
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      <div class="row">
        <label class="filter">
          <span>Source</span>
          <select
            value={chosen === undefined ? 'new' : String(chosen.id)}
            onChange={(event) => filters.set('source', event.currentTarget.value)}
          >
            {all.map((one) => (
              <option key={one.id} value={String(one.id)} dir="auto">
                {one.name}
              </option>
            ))}
            <option value="new">New source…</option>
          </select>
        </label>
        {chosen !== undefined ? null : (
          <label class="filter">
            <span>Name of the source</span>
            <input value={name} maxLength={255} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
      </div>
      {problem === null ? null : <ErrorNote problem={problem} />}
      <Drop
        label="Drop a CSV file here, or choose one"
        accept=".csv,.tsv,.txt,text/csv"
        onFile={(file) => void take(file)}
      />
      <p class="quiet">
        A file has at most 1 GiB, text in UTF-8, and the names of its columns in the first line.
      </p>
    </>
  )
}

/** Files of this page that are to be sent, by import. A reload forgets them, and the page asks for the file again. */
const started = new Map<string, File>()

async function newSource(name: string): Promise<number> {
  const { id } = await contentOf(api.POST('/v3/rest/feedback-sources', { body: { name } }))
  return id
}

/** The same file gives the same import, so a broken upload is continued, unless the import has ended. */
async function createImport(sourceId: number, file: File): Promise<Schemas['CreatedFeedbackImport']> {
  for (let time = 0; ; time++) {
    const created = await contentOf(
      api.POST(IMPORTS, {
        params: { path: { feedbackSourceId: sourceId } },
        body: {
          file_name: file.name.slice(0, 255),
          file_size: file.size,
          upload_key: `${file.name.slice(0, 150)} ${file.size} ${file.lastModified} ${time}`,
        },
      }),
    )
    if (!ENDED.includes(created.phase)) return created
  }
}

interface Place {
  readonly sourceId: number
  readonly importId: string
}

function Follow({ sourceId, importId }: Place) {
  const [round, setRound] = useState(0)
  const path = { feedbackSourceId: sourceId, importId }
  const loaded = useLoaded(`${importId} ${round}`, (signal) =>
    contentOf(api.GET(IMPORT, { params: { path }, signal })),
  )
  const state = loaded.data
  const isMoving = state !== null && MOVING.includes(state.phase)
  useEffect(() => {
    if (!isMoving || loaded.state === 'loading') return
    const timer = setTimeout(() => setRound((before) => before + 1), POLL_MS)
    return () => clearTimeout(timer)
  }, [isMoving, loaded.state, round])
  if (state === null) return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const again = () => setRound((before) => before + 1)
  return (
    <>
      <p>
        <strong>{state.file_name}</strong>
      </p>
      {state.phase === 'waiting' ? <Send sourceId={sourceId} importId={importId} onSent={again} /> : null}
      {state.phase === 'reading' ? <p role="status">The file is being read.</p> : null}
      {state.phase === 'mapping' ? <MapColumns state={state} onStarted={again} /> : null}
      {state.phase === 'importing' || ENDED.includes(state.phase) ? <ImportResult state={state} /> : null}
      {ENDED.includes(state.phase) ? (
        <p class="row">
          <a href={pageOf('/feedback', { source: String(sourceId) })}>Show the feedback</a>
          <a href={pageOf('/feedback/import', { source: String(sourceId) })}>Import another file</a>
        </p>
      ) : (
        <button type="button" onClick={() => void cancel(path).then(again, again)}>
          Cancel
        </button>
      )}
    </>
  )
}

const cancel = (path: { readonly feedbackSourceId: number; readonly importId: string }) =>
  contentOf(api.DELETE(IMPORT, { params: { path } }))

/** Sends the bytes. After a reload the file is not known any more, so the page asks for it. */
function Send({ sourceId, importId, onSent }: Place & { readonly onSent: () => void }) {
  const [file, setFile] = useState(started.get(importId) ?? null)
  const [sent, setSent] = useState(0)
  const [problem, setProblem] = useState<Problem | null>(null)
  const done = useRef(onSent)
  done.current = onSent
  useEffect(() => {
    if (file === null) return
    const stop = new AbortController()
    const send = async () => {
      const created = await createImport(sourceId, file)
      if (created.id !== importId) throw new Error('This is another file.')
      await sendFile(created.upload_url, file, { onProgress: setSent, signal: stop.signal })
      started.delete(importId)
      done.current()
    }
    send().catch((error: unknown) => {
      if (stop.signal.aborted) return
      setProblem(problemOf(error))
      setFile(null)
    })
    return () => stop.abort()
  }, [file])
  return (
    <>
      {problem === null ? null : <ErrorNote problem={problem} />}
      {file === null ? (
        <Drop
          label="The upload is not complete. Drop the same file here to continue"
          accept=".csv,.tsv,.txt,text/csv"
          onFile={(next) => {
            setProblem(null)
            setFile(next)
          }}
        />
      ) : (
        <Progress label="Uploading" done={sent} total={file.size} />
      )}
    </>
  )
}
