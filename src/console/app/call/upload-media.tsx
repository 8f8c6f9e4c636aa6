/** Sends the media of a call. A reload forgets the file: the same file, dropped again, continues where the upload stopped. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, contentOf, type Problem } from '../api.ts'
import { problemOf } from '../load.ts'
import { Drop, Progress } from '../parts/drop.tsx'
import { ErrorNote } from '../parts/notes.tsx'
import { sendFile } from '../send-file.ts'
import { startedUploads } from './started-uploads.ts'

const MEDIA = 'audio/*,video/*'

interface Props {
  readonly recordingId: string
  /** Bytes of an upload are missing. */
  readonly isBegun: boolean
  readonly onSent: () => void
}

export function UploadMedia({ recordingId, isBegun, onSent }: Props) {
  const [file, setFile] = useState(startedUploads.get(recordingId) ?? null)
  const [sent, setSent] = useState(0)
  const [problem, setProblem] = useState<Problem | null>(null)
  const done = useRef(onSent)
  done.current = onSent
  useEffect(() => {
    if (file === null) return
    const stop = new AbortController()
    const send = async () => {
      // The same file gives the same upload.
      const { uploadUrl } = await contentOf(
        api.POST('/v3/rest/recordings/{recordingId}/uploads', {
          params: { path: { recordingId } },
          body: { fileName: file.name.slice(0, 255), fileSize: file.size },
        }),
      )
      await sendFile(uploadUrl, file, { onProgress: setSent, signal: stop.signal })
      startedUploads.delete(recordingId)
      setFile(null)
      done.current()
    }
    send().catch((error: unknown) => {
      if (stop.signal.aborted) return
      setProblem(problemOf(error))
      setFile(null)
    })
    return () => stop.abort()
  }, [file, recordingId])
  return (
    <>
      {problem === null ? null : <ErrorNote problem={problem} />}
      {file === null ? (
        <Drop
          label={
            isBegun
              ? 'The upload is not complete. Drop the same file here to continue'
              : 'Drop a recording here, or choose one'
          }
          accept={MEDIA}
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
