/**
 * The part of creating a recording that needs CPU time and no database: it parses and checks the body, and prepares the transcript for
 * its statement. It runs on the HTTP thread or on another thread (platform/concurrency).
 */
import { type BodyInput, parseBodyWork } from '../../http/parse-body.ts'
import type { Work } from '../../platform/concurrency/work.ts'
import { validate } from '../../platform/validation/json.ts'
import { columnsOf, type TranscriptColumns } from '../transcripts/columns.rules.ts'
import { CreateRecording } from './model.ts'
import { draftOf, type RecordingDraft } from './rules.ts'

/** `transcript` is null if none was supplied. */
export type PreparedRecording = Omit<RecordingDraft, 'transcript'> & {
  readonly transcript: TranscriptColumns | null
}

/** @throws AppError 400. `assetUrl` is not checked here, because that needs the settings of the service. */
export const prepareRecordingWork: Work<BodyInput, PreparedRecording> = {
  name: 'prepare-recording',
  run(input, spend) {
    const draft = draftOf(validate(CreateRecording, parseBodyWork.run(input, spend)))
    return { ...draft, transcript: draft.transcript === null ? null : columnsOf(draft.transcript) }
  },
}
