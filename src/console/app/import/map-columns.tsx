/** What the columns of a file mean, with the first rows judged beside it. */
import { useState } from 'preact/hooks'
import { api, contentOf, type Problem, type Schemas } from '../api.ts'
import { problemOf, useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { labelOf } from '../words.ts'
import {
  CATEGORIES,
  type Column,
  columnsOf,
  isRole,
  LEFT_OUT,
  mappingOf,
  ROLES,
  TYPES,
  withUse,
} from './mapping.ts'

type State = Schemas['FeedbackImport']
type JudgedRow = Schemas['FeedbackImportPreview']['data'][number]

const IMPORT = '/v3/rest/feedback-sources/{feedbackSourceId}/imports/{importId}'
/** As in the API. */
const MAX_FIELD_NAME = 255
const USES = [...Object.entries(CATEGORIES), ...Object.entries(ROLES), [LEFT_OUT, 'Leave out']] as const

export function MapColumns({ state, onStarted }: { readonly state: State; readonly onStarted: () => void }) {
  const [columns, setColumns] = useState(() => columnsOf(state.columns ?? [], state.suggested_mapping ?? {}))
  const [problem, setProblem] = useState<Problem | null>(null)
  const mapping = mappingOf(columns)
  const path = { feedbackSourceId: state.feedback_source_id, importId: state.id }
  const preview = useLoaded(JSON.stringify(mapping), (signal) =>
    contentOf(api.POST(`${IMPORT}/preview`, { params: { path }, body: { mapping }, signal })),
  )
  const change = (column: string, to: Partial<Column>) =>
    setColumns(columns.map((one) => (one.column === column ? { ...one, ...to } : one)))
  const start = async (repeat: boolean) => {
    try {
      await contentOf(api.POST(`${IMPORT}/start`, { params: { path }, body: { mapping, repeat } }))
      onStarted()
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  const isRepeated = problem?.code === 'feedback_import_repeated'
  return (
    <>
      <h2>What do the columns mean?</h2>
      <div class="scroll">
        <table class="fields">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Meaning</th>
              <th scope="col">Type</th>
              <th scope="col">Name of the field</th>
            </tr>
          </thead>
          <tbody>
            {columns.map(({ column, use, type, name }) => (
              <tr key={column}>
                <th scope="row" dir="auto">
                  {column}
                </th>
                <td>
                  <select
                    aria-label={`Meaning of ${column}`}
                    value={use}
                    onChange={(event) => setColumns(withUse(columns, column, event.currentTarget.value))}
                  >
                    {USES.map(([value, label]) => (
                      <option key={value} value={value}>
                        {label}
                      </option>
                    ))}
                  </select>
                </td>
                <td>
                  {isRole(use) || use === LEFT_OUT ? null : (
                    <select
                      aria-label={`Type of ${column}`}
                      value={type}
                      onChange={(event) => change(column, { type: event.currentTarget.value })}
                    >
                      {TYPES.map((one) => (
                        <option key={one} value={one}>
                          {labelOf(one)}
                        </option>
                      ))}
                    </select>
                  )}
                </td>
                <td>
                  {isRole(use) || use === LEFT_OUT ? null : (
                    <input
                      aria-label={`Name of the field of ${column}`}
                      placeholder="from the column"
                      pattern="[a-z0-9][a-z0-9_]*"
                      title="Lower-case letters, digits and _"
                      maxLength={MAX_FIELD_NAME}
                      value={name}
                      onChange={(event) => change(column, { name: event.currentTarget.value.trim() })}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {columns.some(({ use }) => use === 'external_id') ? null : (
        <p class="quiet">Without an external id, rows of another file cannot be recognised as known.</p>
      )}
      <h2>The first rows</h2>
      {preview.state === 'failed' ? (
        <ErrorNote problem={preview.problem} />
      ) : preview.data === null ? (
        <Loading />
      ) : (
        <>
          {preview.data.notes.map((note) => (
            <p key={note} role="note">
              {note}
            </p>
          ))}
          <FirstRows rows={preview.data.data} />
        </>
      )}
      {problem === null ? null : <ErrorNote problem={problem} />}
      <p class="row">
        <button type="button" disabled={preview.state === 'failed'} onClick={() => void start(isRepeated)}>
          {isRepeated ? 'Import it again' : 'Import'}
        </button>
      </p>
    </>
  )
}

function FirstRows({ rows }: { readonly rows: readonly JudgedRow[] }) {
  const refused = rows.filter(({ record }) => record === null).length
  return (
    <>
      <p role="status">
        {refused === 0
          ? `All ${rows.length} rows would be imported.`
          : `${refused} of ${rows.length} rows would be refused.`}
      </p>
      <ul class="judged" aria-label="First rows">
        {rows.map(({ line, refused: reason, record }) => (
          <li key={line} class={record === null ? 'refused' : undefined}>
            <span class="quiet">Line {line}</span>
            {record === null ? (
              <span>
                <span aria-hidden="true">✕ </span>Refused: {reason}
              </span>
            ) : (
              <span>
                <span aria-hidden="true">✓ </span>
                <bdi>{wordsOf(record)}</bdi>
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

function wordsOf({ external_id, email, display_ts, fields }: NonNullable<JudgedRow['record']>): string {
  const values = fields.map(
    ({ name, value }) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return [external_id, email, display_ts, ...values].filter(Boolean).join(' · ')
}
