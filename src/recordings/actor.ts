/** The actor of a recording: everything that happens to it after its request was answered, one thing at a time. */
import type { ActorDefinition } from '../actors/types.ts'
import { createSummarizer } from '../analyze/create.ts'
import type { Summarizer } from '../analyze/summarizer.ts'
import type { Deps } from '../container.ts'
import { INGEST_LIMITS, type IngestLimits, ingestHandlers } from '../media/ingest.ts'
import { createProbe, type Probe } from '../media/probe.ts'
import { giveUpIngestion, INGEST_ATTEMPTS } from '../media/service.ts'
import { createFetchPublic, type FetchPublic } from '../platform/net/fetch-public.ts'
import { createRequestTranscription } from '../transcribe/requests.ts'
import { transcriptHandlers } from '../transcripts/indexing.ts'

/** What the actor works with; the real things where absent. */
export interface RecordingTools {
  readonly summarizer?: Summarizer
  readonly fetchPublic?: FetchPublic
  readonly probe?: Probe
  readonly limits?: IngestLimits
}

/** What cannot be done in the end is left to an operator, among the dead letters; media fails for its caller to see. */
export function recordingActor(
  deps: Pick<Deps, 'config' | 'storage' | 'newId' | 'clock'>,
  {
    summarizer = createSummarizer(deps.config),
    fetchPublic = createFetchPublic(),
    probe = createProbe(deps.config),
    limits = INGEST_LIMITS,
  }: RecordingTools = {},
): ActorDefinition {
  return {
    kind: 'recording',
    pool: 'long',
    maxAttempts: 8,
    maxAttemptsOf: { ingest_url: INGEST_ATTEMPTS },
    handlers: {
      ...transcriptHandlers(summarizer),
      ...ingestHandlers({
        ...deps,
        fetchPublic,
        probe,
        limits,
        requestTranscription: createRequestTranscription(deps.config),
      }),
    },
    giveUp: async (message, ...rest) =>
      message.type === 'ingest_url' ? giveUpIngestion(message, ...rest) : 'dead_letter',
  }
}
