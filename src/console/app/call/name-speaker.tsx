/** Says who a speaker of a transcript is. The person is known by the e-mail address, or new. */
import { useState } from 'preact/hooks'
import { api, contentOf, type Problem, type Schemas } from '../api.ts'
import { problemOf } from '../load.ts'
import { ErrorNote } from '../parts/notes.tsx'

type Recording = Schemas['Recording']

interface Props {
  readonly recording: Recording
  /** Numbers of the speakers of the transcript. */
  readonly speakers: readonly number[]
  readonly onNamed: () => void
}

export function NameSpeaker({ recording, speakers, onNamed }: Props) {
  const [problem, setProblem] = useState<Problem | null>(null)
  const name = async (form: HTMLFormElement) => {
    const text = (field: string) => String(new FormData(form).get(field) ?? '').trim()
    const speaker = Number(text('speaker'))
    const others = recording.participants.flatMap((one) =>
      one.speaker === speaker || one.personId === null
        ? []
        : [{ speaker: one.speaker, personId: one.personId }],
    )
    const [firstName = '', ...rest] = text('name').split(/\s+/)
    const named = { speaker, email: text('email'), firstName, lastName: rest.join(' ') }
    try {
      await contentOf(
        api.PATCH('/v3/rest/recordings/{recordingId}', {
          params: { path: { recordingId: recording.id } },
          body: { participants: [...others, named] },
        }),
      )
      setProblem(null)
      form.reset()
      onNamed()
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <details>
      <summary>Name a speaker</summary>
      {problem === null ? null : <ErrorNote problem={problem} />}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          void name(event.currentTarget)
        }}
      >
        <label class="filter">
          <span>Speaker</span>
          <select name="speaker">
            {speakers.map((one) => (
              <option key={one} value={String(one)}>
                {one + 1}
              </option>
            ))}
          </select>
        </label>
        <label class="filter">
          <span>Name</span>
          <input name="name" dir="auto" maxLength={200} />
        </label>
        <label class="filter">
          <span>E-mail address</span>
          <input name="email" type="email" required maxLength={254} />
        </label>
        <button type="submit">Save</button>
      </form>
    </details>
  )
}
