/** The actor of a recording: everything that happens to it after its request was answered, one thing at a time. */
import type { ActorDefinition } from '../actors/types.ts'
import { createSummarizer } from '../analyze/create.ts'
import type { Summarizer } from '../analyze/summarizer.ts'
import type { Deps } from '../container.ts'
import { INGEST_LIMITS, type IngestLimits, ingestHandlers } from '../media/ingest.ts'
import { createProbe, type Probe } from '../media/probe.ts'
import { giveUpIngestion, INGEST_ATTEMPTS } from '../media/service.ts'
import { createFetchPublic, type FetchPublic } from '../platform/net/fetch-public.ts'
import { createTranscriber } from '../transcribe/create.ts'
import { createRequestTranscription } from '../transcribe/requests.ts'
import type { Transcriber } from '../transcribe/transcriber.ts'
import { giveUpTranscription, TRANSCRIBE_ATTEMPTS, transcribeHandlers } from '../transcribe/transcription.ts'
import { transcriptHandlers } from '../transcripts/indexing.ts'

/** What the actor works with; the real things where absent. */
export interface RecordingTools {
  readonly summarizer?: Summarizer
  readonly fetchPublic?: FetchPublic
  readonly probe?: Probe
  readonly limits?: IngestLimits
  readonly transcriber?: Transcriber | null
}

/** What cannot be done in the end is left to an operator, among the dead letters; media fails for its caller to see. */
export function recordingActor(
  deps: Pick<Deps, 'config' | 'storage' | 'newId' | 'clock'>,
  {
    summarizer = createSummarizer(deps.config),
    fetchPublic = createFetchPublic(),
    probe = createProbe(deps.config),
    limits = INGEST_LIMITS,
    transcriber = createTranscriber(deps.config),
  }: RecordingTools = {},
): ActorDefinition {
  return {
    kind: 'recording',
    pool: 'long',
    maxAttempts: 8,
    maxAttemptsOf: { ingest_url: INGEST_ATTEMPTS, transcribe: TRANSCRIBE_ATTEMPTS },
    handlers: {
      ...transcriptHandlers(summarizer),
      ...ingestHandlers({
        ...deps,
        fetchPublic,
        probe,
        limits,
        requestTranscription: createRequestTranscription(deps.config),
      }),
      ...transcribeHandlers({ ...deps, transcriber }),
    },
    giveUp: async (message, ...rest) => {
      if (message.type === 'ingest_url') return giveUpIngestion(message, ...rest)
      return message.type === 'transcribe' ? giveUpTranscription(message, ...rest) : 'dead_letter'
    },
  }
}
