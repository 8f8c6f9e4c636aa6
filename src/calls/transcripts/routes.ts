/** The REST operation that returns the transcript of a recording as JSON, subtitles or text. */

import { type Operation, ok, operation, type Reply, text } from '../../http/operation.ts'
import { JsonText } from '../../http/page-text.ts'
import { uuidOf } from '../../http/parameters.ts'
import type { OrganizationPrincipal, UserPrincipal } from '../../kernel/principal.ts'
import { AppError } from '../../platform/errors.ts'
import { formatOf, MEDIA_TYPES, type Speaker, toFormat } from './export.rules.ts'
import {
  TRANSCRIPT_TYPES,
  Transcript,
  TranscriptQuery,
  type TranscriptType,
  type Utterance,
} from './model.ts'
import type { Transcripts } from './service.ts'

/** The text formats of the JSON example. */
const TEXT_EXAMPLES = {
  [MEDIA_TYPES.vtt]: 'WEBVTT\n\n00:00:00.000 --> 00:00:02.500\n<v Speaker 0>Good morning!\n',
  [MEDIA_TYPES.srt]: '1\n00:00:00,000 --> 00:00:02,500\nSpeaker 0: Good morning!\n',
  [MEDIA_TYPES.txt]: 'Speaker 0: Good morning!\n',
}

/** @throws AppError 404 `recording_not_found` if the caller may not see the recording */
export type AssertVisible = (
  principal: OrganizationPrincipal | UserPrincipal,
  recordingId: string,
) => Promise<void>

/** Names of the participants of a recording that the caller may see. */
export type SpeakersOf = (organizationId: string, recordingId: string) => Promise<readonly Speaker[]>

export function transcriptOperations(
  transcripts: Transcripts,
  { assertVisible, speakersOf }: { readonly assertVisible: AssertVisible; readonly speakersOf: SpeakersOf },
): readonly Operation[] {
  return [
    operation({
      id: 'getRecordingTranscript',
      method: 'GET',
      path: '/v3/rest/recordings/{recordingId}/transcript',
      params: { recordingId: uuidOf('recording') },
      tag: 'Recordings',
      summary: 'Read the transcript of a recording',
      description:
        'Returns the transcript in stored order. The list is empty if there is no transcript yet, and if the media has no ' +
        'speech. ' +
        '`type=monologue` joins neighbouring utterances of one speaker. `Accept: text/vtt`, `application/x-subrip` or ' +
        '`text/plain`, or the parameter `format`, returns subtitles or text. There a speaker has the name of its participant, or is ' +
        'called `Speaker 1`, with its number, if the name is unknown.',
      access: 'organizationOrUser',
      role: 'viewer',
      reads: { action: 'transcript.read', object: 'recordingId' },
      query: TranscriptQuery,
      success: {
        status: 200,
        description: 'The transcript',
        schema: Transcript,
        texts: TEXT_EXAMPLES,
      },
      errors: ['recording_not_found', 'unsupported_transcript_type'],
      async handler({ principal, id, query, request }) {
        const recordingId = id('recordingId', 'recording_not_found')
        await assertVisible(principal, recordingId)
        const { type, format = formatOf(request.headers.get('accept')) } = query()
        const wanted = typeOf(type)
        if (format === 'json' && wanted === 'utterance') {
          const utterances = await transcripts.readJson(principal.organizationId, recordingId)
          const start = JSON.stringify({ type: wanted, recordingId }).slice(0, -1)
          return varying(ok(new JsonText(`${start},"utterances":[${utterances}]}`)))
        }
        const entries = await transcripts.read(principal.organizationId, recordingId, wanted)
        if (format === 'json') return varying(ok(transcript(recordingId, wanted, entries)))
        const speakers = await speakersOf(principal.organizationId, recordingId)
        return varying(text(MEDIA_TYPES[format], toFormat(format, entries, speakers)))
      },
    }),
  ]
}

/** Caches must not return one `Accept`'s representation for another. */
function varying(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, vary: 'accept' } }
}

function typeOf(type: string): TranscriptType {
  const found = TRANSCRIPT_TYPES.find((known) => known === type)
  if (found !== undefined) return found
  throw new AppError(
    'unsupported_transcript_type',
    `type must be one of ${TRANSCRIPT_TYPES.map((known) => `"${known}"`).join(', ')}.`,
  )
}

function transcript(recordingId: string, type: TranscriptType, entries: readonly Utterance[]) {
  const shown = entries.map(({ startSec, endSec, speaker, text }) => ({
    recordingId,
    startSec,
    endSec,
    speaker,
    text,
  }))
  return { type, recordingId, monologues: shown }
}
