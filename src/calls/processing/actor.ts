/**
 * The actor of a recording. It handles everything that happens after the recording's requests were answered, one
 * message at a time.
 */

import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { AnalyzerDeps } from '../../analysis/analyze/create.ts'
import { createSummarizer } from '../../analysis/analyze/create.ts'
import type { Summarizer } from '../../analysis/analyze/summarizer.ts'
import type { Deps } from '../../kernel/deps.ts'
import { recordingMessages } from '../../kernel/messages/recording.ts'
import { createFetchPublic, type FetchPublic } from '../../platform/net/fetch-public.ts'
import { toOperatorServers } from '../../platform/net/operator-servers.ts'
import { INGEST_LIMITS, type IngestLimits, ingestHandlers } from '../media/ingest.ts'
import { createProbe } from '../media/probe.ts'
import { createProcess, type Process } from '../media/process.ts'
import { findPrograms } from '../media/programs.ts'
import { MAX_TURN_MS } from '../media/rules.ts'
import { giveUpIngestion, INGEST_ATTEMPTS } from '../media/service.ts'
import { giveUpUpload, PROCESS_ATTEMPTS, uploadedHandlers } from '../media/uploaded.ts'
import type { RecorderDeps } from '../meetings/recorder.ts'
import { createMediaSource } from '../meetings/source.ts'
import { createTranscriber } from '../transcribe/create.ts'
import type { Transcriber } from '../transcribe/transcriber.ts'
import { giveUpTranscription, TRANSCRIBE_ATTEMPTS, transcribeHandlers } from '../transcribe/transcription.ts'
import { INDEXING_ATTEMPTS, transcriptHandlers } from '../transcripts/indexing.ts'
import { createRequestTranscription } from '../transcripts/requests.ts'

/** Dependencies of the actor. An absent one is created from the settings. */
export interface RecordingTools {
  readonly summarizer?: Summarizer
  readonly fetchPublic?: FetchPublic
  /** Its name is a setting of the operator, so it resolves as the machine does. */
  readonly fetchFromRecorder?: FetchPublic
  readonly process?: Process
  readonly limits?: IngestLimits
  readonly transcriber?: Transcriber | null
}

/** A message that keeps failing becomes a dead letter for an operator. Media instead fails visibly for its caller. */
export function recordingActor(
  deps: Pick<
    Deps & AnalyzerDeps & RecorderDeps,
    | 'config'
    | 'sql'
    | 'metrics'
    | 'storage'
    | 'newId'
    | 'clock'
    | 'modelServer'
    | 'textWork'
    | 'requestWork'
    | 'outbound'
    | 'recorder'
  >,
  {
    summarizer = createSummarizer(deps),
    fetchPublic = createFetchPublic({ policy: deps.outbound }),
    fetchFromRecorder = createFetchPublic(toOperatorServers(deps.outbound)),
    process = createRealProcess(deps),
    limits = INGEST_LIMITS,
    transcriber = createTranscriber(deps.config, findPrograms(deps.config), deps.requestWork),
  }: RecordingTools = {},
): ActorDefinition {
  const requestTranscription = createRequestTranscription(deps.config)
  const media = { ...deps, process, requestTranscription }
  return defineActor(recordingMessages, {
    maxAttempts: INDEXING_ATTEMPTS,
    maxAttemptsOf: {
      ingest_url: INGEST_ATTEMPTS,
      process_upload: PROCESS_ATTEMPTS,
      transcribe: TRANSCRIBE_ATTEMPTS,
    },
    // The default time limit is too short for hours of film on a small machine.
    turnTimeoutMsOf: { ingest_url: MAX_TURN_MS, process_upload: MAX_TURN_MS },
    handlers: {
      ...transcriptHandlers(summarizer),
      ...ingestHandlers({
        ...media,
        fetchPublic,
        fetchFromRecorder,
        limits,
        findSource: createMediaSource(deps),
      }),
      ...uploadedHandlers(media),
      // Sent by older versions: a transcription has an actor of its own (`transcribe/actor.ts`).
      ...transcribeHandlers({ ...deps, transcriber }),
    },
    giveUp: {
      ingest_url: giveUpIngestion,
      process_upload: giveUpUpload,
      transcribe: giveUpTranscription,
    },
  })
}

function createRealProcess({ config, clock }: Pick<Deps, 'config' | 'clock'>): Process {
  const { ffprobe, ffmpeg } = findPrograms(config)
  return createProcess({ probe: createProbe({ ffprobe }), ffmpeg, clock })
}
