/** The form of a webhook, new or changed. */
import { useState } from 'preact/hooks'
import type { Schemas } from '../api.ts'
import { FormDialog } from '../parts/dialogs.tsx'
import { Check, Field } from './parts.tsx'

type Body = Schemas['CreateWebhookRequest']
type Type = Body['types'][number]

/** As in docs/webhooks.md. The compiler compares them with the API. */
const TYPES = {
  'feedback_record.created': 'Feedback was stored',
  'signal.created': 'A finding was made',
  'signal.updated': 'A finding was changed',
  'agent_session.ended': 'A conversation ended',
  'agent_session.abandoned': 'A conversation was abandoned',
  'agent_session.processed': 'A conversation was processed',
  'recording.created': 'A call was created',
  'recording.asset.completed': 'The media of a call can be played',
  'recording.asset.failed': 'The media of a call failed',
  'recording.transcript.completed': 'A transcript is ready',
  'recording.transcript.failed': 'A transcription failed',
  'upload.ready': 'An upload can be played',
  'upload.failed': 'An upload failed',
  'upload.cancelled': 'An upload was cancelled',
  'theme.created': 'A theme was created',
  'theme.changed': 'A theme was changed',
  ping: 'A test was asked for',
} as const satisfies Readonly<Record<Exclude<Type, '*'>, string>>

const isType = (text: string): text is Type => text in TYPES

interface Props {
  readonly title: string
  readonly submit: string
  readonly webhook?: Schemas['Webhook']
  readonly onSubmit: (body: Body) => Promise<unknown>
  readonly onClose: () => void
}

export function WebhookForm({ title, submit, webhook, onSubmit, onClose }: Props) {
  const [all, setAll] = useState(webhook?.types.includes('*') ?? true)
  return (
    <FormDialog
      title={title}
      submit={submit}
      onClose={onClose}
      onSubmit={(fields) => {
        const types: Type[] = all ? ['*'] : fields.all('type').filter(isType)
        return onSubmit({
          url: fields.text('url'),
          types,
          description: fields.text('description') || null,
          ordering: fields.isChecked('strict') ? 'strict' : 'relaxed',
        })
      }}
    >
      <Field label="URL" hint="https, and reachable from the service.">
        <input name="url" type="url" required maxLength={2048} defaultValue={webhook?.url ?? ''} />
      </Field>
      <Field label="Description">
        <input name="description" maxLength={1000} defaultValue={webhook?.description ?? ''} />
      </Field>
      <fieldset>
        <legend>Events</legend>
        <label class="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          <span>All, also those of later versions</span>
        </label>
        {all
          ? null
          : Object.entries(TYPES).map(([type, label]) => (
              <Check
                key={type}
                name="type"
                value={type}
                label={`${label} (${type})`}
                isChecked={webhook?.types.includes(type) ?? false}
              />
            ))}
      </fieldset>
      <Check
        label="Strict order: later events wait until an event is delivered or given up"
        name="strict"
        isChecked={webhook?.ordering === 'strict'}
      />
    </FormDialog>
  )
}
