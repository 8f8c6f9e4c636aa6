/** Brings a call in: a file, or a meeting that is joined. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { pageOf } from '../address.ts'
import { api, contentOf, type Problem } from '../api.ts'
import { problemOf } from '../load.ts'
import { Drop } from '../parts/drop.tsx'
import { ErrorNote } from '../parts/notes.tsx'
import { startedUploads } from './started-uploads.ts'

export function AddCall() {
  const { route } = useLocation()
  const [problem, setProblem] = useState<Problem | null>(null)
  const act = async (work: () => Promise<string>) => {
    try {
      route(pageOf(`/calls/${await work()}`))
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  const upload = (file: File) =>
    act(async () => {
      const { id } = await contentOf(api.POST('/v3/rest/recordings', { body: {} }))
      startedUploads.set(id, file)
      return id
    })
  const join = (joinUrl: string) =>
    act(async () => {
      const body = { type: 'meetingUrl', joinUrl } as const
      const { recordingId } = await contentOf(api.POST('/v3/rest/recordings/meeting-joins', { body }))
      return recordingId
    })
  return (
    <details>
      <summary>Add a call</summary>
      {problem === null ? null : <ErrorNote problem={problem} />}
      <Drop
        label="Drop a recording here, or choose one"
        accept="audio/*,video/*"
        onFile={(file) => void upload(file)}
      />
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          void join(String(new FormData(event.currentTarget).get('link') ?? '').trim())
        }}
      >
        <label class="filter">
          <span>Link of a meeting</span>
          <input name="link" type="url" required placeholder="https://meet.google.com/…" />
        </label>
        <button type="submit">Join the meeting</button>
      </form>
    </details>
  )
}
