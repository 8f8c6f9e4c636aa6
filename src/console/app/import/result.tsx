/** The progress of an import, and what became of its rows. */
import { api, contentOf, type Schemas } from '../api.ts'
import { Progress } from '../parts/drop.tsx'
import { number } from '../words.ts'

type State = Schemas['FeedbackImport']

const REASONS: Readonly<Record<string, string>> = {
  upload_expired: 'The upload was not completed in time.',
  upload_failed: 'The file could not be stored.',
  processing_failed: 'The file could not be read to its end.',
  not_a_csv_file: 'This is not a CSV file: the first line has no names of columns in UTF-8.',
  utf_16_file: 'The file is UTF-16: save it as UTF-8.',
  import_expired: 'The import was not started within 7 days.',
}
const TITLES: Readonly<Record<string, string>> = {
  importing: 'Importing',
  imported: 'Imported',
  failed: 'The import failed',
  cancelled: 'The import was cancelled',
}

export function ImportResult({ state }: { readonly state: State }) {
  const { phase, error_code: code, rows, imported, duplicates, refused, refused_kept: kept } = state
  return (
    <section aria-labelledby="import-result">
      <h2 id="import-result">
        <span role="status">{TITLES[phase]}</span>
      </h2>
      {code === null ? null : <p>{REASONS[code] ?? code}</p>}
      {phase === 'importing' ? (
        <Progress label="Rows" done={state.processed_bytes} total={state.file_size} />
      ) : null}
      <dl class="facts">
        <dt>Rows</dt>
        <dd>{number(rows)}</dd>
        <dt>New records</dt>
        <dd>{number(imported)}</dd>
        <dt>Known already</dt>
        <dd>{number(duplicates)}</dd>
        <dt>Refused</dt>
        <dd>{number(refused)}</dd>
      </dl>
      {kept === 0 ? null : (
        <p>
          <button type="button" onClick={() => void download(state)}>
            Download refused rows
          </button>{' '}
          <span class="quiet">Correct them and import this file.</span>
        </p>
      )}
    </section>
  )
}

async function download(state: State): Promise<void> {
  const path = { feedbackSourceId: state.feedback_source_id, importId: state.id }
  const text = await contentOf(
    api.GET('/v3/rest/feedback-sources/{feedbackSourceId}/imports/{importId}/refused-rows', {
      params: { path },
      parseAs: 'blob',
    }),
  )
  const url = URL.createObjectURL(text as Blob)
  const link = document.createElement('a')
  link.href = url
  link.download = `refused-${state.file_name.replace(/\.\w+$/, '')}.csv`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
