/** The balance of credits and how it changed. */
import { useState } from 'preact/hooks'
import { api, contentOf } from '../api.ts'
import { useLoaded, usePages } from '../load.ts'
import { FormDialog, Opens } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time, Title } from '../parts/small.tsx'
import { number } from '../words.ts'
import { Field, Row, Rows, slice } from './parts.tsx'

const CREDITS = '/v3/rest/credits'

export function Credits() {
  const [round, setRound] = useState(0)
  const reload = () => setRound((before) => before + 1)
  const loaded = useLoaded(`credits ${round}`, (signal) => contentOf(api.GET(CREDITS, { signal })))
  const pages = usePages(`credit entries ${round}`, (cursor, signal) =>
    contentOf(api.GET('/v3/rest/credits/entries', { params: { query: slice(cursor) }, signal })),
  )
  if (loaded.data === null)
    return loaded.state === 'failed' ? <ErrorNote problem={loaded.problem} /> : <Loading />
  const { balance } = loaded.data
  return (
    <>
      <Title text="Credits">
        <Opens label="Add" dialog={(close) => <Add onClose={close} onDone={reload} />} />
        <Opens
          label="Set"
          dialog={(close) => <SetBalance balance={balance} onClose={close} onDone={reload} />}
        />
      </Title>
      <p>
        Balance: <strong>{balance === null ? 'unlimited' : number(balance)}</strong>
      </p>
      <p class="quiet">
        One credit is taken for each final answer of an agent. Without credits conversations are stored, and
        their analysis waits.
      </p>
      <Rows
        label="Changes"
        pages={pages}
        keyOf={({ id }) => id}
        row={({ amount, note, createdAt }) => (
          <Row main={`${amount > 0 ? '+' : ''}${number(amount)}`} note={note ?? ''}>
            <Time at={createdAt} />
          </Row>
        )}
        empty={<p>The balance was never changed.</p>}
      />
    </>
  )
}

interface ChangeProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

const Note = () => (
  <Field label="Reason">
    <input name="note" maxLength={1000} autocomplete="off" />
  </Field>
)

function Add({ onClose, onDone }: ChangeProps) {
  return (
    <FormDialog
      title="Add credits"
      submit="Add"
      onClose={onClose}
      onSubmit={async ({ text }) => {
        const body = { units: Number(text('units')), note: text('note') || null }
        await contentOf(api.POST(CREDITS, { body }))
        onDone()
      }}
    >
      <Field label="Credits">
        <input name="units" type="number" required min={1} max={1_000_000_000_000} step={1} />
      </Field>
      <Note />
    </FormDialog>
  )
}

function SetBalance({ balance, onClose, onDone }: ChangeProps & { readonly balance: number | null }) {
  return (
    <FormDialog
      title="Set the balance"
      submit="Set"
      onClose={onClose}
      onSubmit={async ({ text }) => {
        const to = text('balance')
        const body = { balance: to === '' ? null : Number(to), note: text('note') || null }
        await contentOf(api.PATCH(CREDITS, { body }))
        onDone()
      }}
    >
      <Field label="Balance" hint="Empty: unlimited.">
        <input
          name="balance"
          type="number"
          min={0}
          max={Number.MAX_SAFE_INTEGER}
          step={1}
          defaultValue={balance === null ? '' : String(balance)}
        />
      </Field>
      <Note />
    </FormDialog>
  )
}
