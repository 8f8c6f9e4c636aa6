/** The fields that recordings and other records have. */
import { useState } from 'preact/hooks'
import { useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded, usePages } from '../load.ts'
import { FormDialog, Opens } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Title } from '../parts/small.tsx'
import { labelOf } from '../words.ts'
import { allOf, numbered, PAGE_ROWS } from './all-of.ts'
import { Field, Row, Rows } from './parts.tsx'

type Source = Schemas['MetadataSource']
type FieldType = Schemas['MetadataFieldType']

const SOURCES = '/v3/rest/metadata/sources'
const FIELDS = '/v3/rest/metadata/sources/{sourceId}/fields'
const TYPES = {
  string: 'Text',
  boolean: 'Yes or no',
  integer: 'Whole number',
  float: 'Number',
  date: 'Date',
  datetime: 'Date and time',
  json: 'JSON',
} as const satisfies Readonly<Record<FieldType, string>>
const isType = (text: string): text is FieldType => text in TYPES

export function MetadataFields() {
  const filters = useFilters()
  const [round, setRound] = useState(0)
  const loaded = useLoaded(`metadata sources ${round}`, (signal) =>
    allOf(async (cursor) => {
      const page = Number(cursor ?? 1)
      const query = { page, limit: PAGE_ROWS }
      return numbered(await contentOf(api.GET(SOURCES, { params: { query }, signal })), page)
    }),
  )
  if (loaded.data === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const sources = loaded.data
  const source = sources.find(({ id }) => id === filters.get('source')) ?? sources[0]
  const choose = (id: string) => {
    setRound(round + 1)
    filters.set('source', id)
  }
  return (
    <>
      <Title text="Metadata">
        <label class="filter">
          <span>Source</span>
          <select value={source?.id} onChange={(event) => filters.set('source', event.currentTarget.value)}>
            {sources.map(({ id, externalEntityName }) => (
              <option key={id} value={id}>
                {externalEntityName}
              </option>
            ))}
          </select>
        </label>
        <Opens label="New source" dialog={(close) => <NewSource onClose={close} onCreated={choose} />} />
      </Title>
      {source === undefined ? null : (
        <FieldsOf key={source.id} source={source} onRenamed={() => setRound(round + 1)} />
      )}
    </>
  )
}

function NewSource(props: { readonly onClose: () => void; readonly onCreated: (id: string) => void }) {
  return (
    <FormDialog
      title="New source"
      submit="Create"
      onClose={props.onClose}
      onSubmit={async ({ text }) => {
        const body = { externalEntityName: text('name') }
        props.onCreated((await contentOf(api.POST(SOURCES, { body }))).id)
      }}
    >
      <NameField hint="The kind of its records, such as accounts." />
    </FormDialog>
  )
}

const NameField = ({ value = '', hint }: { readonly value?: string; readonly hint: string }) => (
  <Field label="Name" hint={hint}>
    <input name="name" required maxLength={255} defaultValue={value} autocomplete="off" />
  </Field>
)

function FieldsOf({ source, onRenamed }: { readonly source: Source; readonly onRenamed: () => void }) {
  const [round, setRound] = useState(0)
  const reload = () => setRound((before) => before + 1)
  const path = { sourceId: source.id }
  const pages = usePages(`fields ${source.id} ${round}`, async (cursor, signal) => {
    const page = Number(cursor ?? 1)
    const query = { page, limit: PAGE_ROWS }
    const data = await contentOf(api.GET(FIELDS, { params: { path, query }, signal }))
    return numbered(data, page)
  })
  return (
    <>
      {source.isCanonicalRecordingSource ? <p>Recordings have these fields.</p> : null}
      <div class="row">
        {source.type !== 'api' ? null : (
          <Opens
            label="New field"
            dialog={(close) => <NewField path={path} onClose={close} onCreated={reload} />}
          />
        )}
        {source.managedBy !== 'customer' ? null : (
          <Opens
            label="Rename the source"
            dialog={(close) => (
              <FormDialog
                title="Rename the source"
                submit="Save"
                onClose={close}
                onSubmit={async ({ text }) => {
                  const body = { externalEntityName: text('name') }
                  await contentOf(api.PATCH(`${SOURCES}/{sourceId}`, { params: { path }, body }))
                  onRenamed()
                }}
              >
                <NameField value={source.externalEntityName} hint="The kind of its records." />
              </FormDialog>
            )}
          />
        )}
      </div>
      <Rows
        label="Fields"
        pages={pages}
        keyOf={({ id }) => id}
        row={(field) => (
          <Row main={field.name} note={TYPES[field.type]}>
            {source.type !== 'api' ? null : (
              <Opens
                label="Rename"
                name={`Rename ${field.name}`}
                dialog={(close) => (
                  <FormDialog
                    title="Rename the field"
                    submit="Save"
                    onClose={close}
                    onSubmit={async ({ text }) => {
                      const params = { path: { fieldId: field.id } }
                      const body = { name: text('name') }
                      await contentOf(api.PATCH('/v3/rest/metadata/fields/{fieldId}', { params, body }))
                      reload()
                    }}
                  >
                    <NameField value={field.name} hint="Unique in its source." />
                  </FormDialog>
                )}
              />
            )}
          </Row>
        )}
        empty={
          <p>No field yet. Create one, and send its value with each {labelOf('recording').toLowerCase()}.</p>
        }
      />
    </>
  )
}

function NewField(props: {
  readonly path: { readonly sourceId: string }
  readonly onClose: () => void
  readonly onCreated: () => void
}) {
  return (
    <FormDialog
      title="New field"
      submit="Create"
      onClose={props.onClose}
      onSubmit={async ({ text }) => {
        const type = text('type')
        const body = { name: text('name'), type: isType(type) ? type : 'string' }
        await contentOf(api.POST(FIELDS, { params: { path: props.path }, body }))
        props.onCreated()
      }}
    >
      <NameField hint="Unique in its source." />
      <Field label="Type" hint="It never changes.">
        <select name="type">
          {Object.entries(TYPES).map(([type, label]) => (
            <option key={type} value={type}>
              {label}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  )
}
