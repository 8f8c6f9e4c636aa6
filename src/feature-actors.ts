/** The actors of every feature, for worker threads. This is the only list of them. */
import type { ActorDefinition } from './actors/types.ts'
import { analysisActor } from './agents/analysis/actor.ts'
import { sessionReanalysisActor } from './agents/analysis/reanalysis.ts'
import { createStoreVisitorFeedback } from './agents/ingest/visitor-feedback.ts'
import { sessionActor } from './agents/sessions/actor.ts'
import { sessionErasure } from './agents/sessions/erasure.ts'
import { codingSessionActor } from './coding-sessions/actor.ts'
import { codingSessionErasure } from './coding-sessions/erasure.ts'
import type { Deps } from './container.ts'
import type { Services } from './feature-services.ts'
import { feedbackImportActor } from './feedback/import-jobs/actor.ts'
import { feedbackImportErasure } from './feedback/import-jobs/erasure.ts'
import { insightActor, insightReanalysisActor } from './findings/actor.ts'
import { findingGateActor } from './findings/gate.ts'
import { importSourceActor } from './importers/sources/actor.ts'
import { meetingActor } from './meetings/actor.ts'
import { recorderErasure } from './meetings/discard.ts'
import { valueErasure } from './metadata/erasure.ts'
import { traceActor } from './otlp/actor.ts'
import { traceErasure } from './otlp/erasure.ts'
import { erasureActor } from './people/erasure-actor.ts'
import { personMergeActor } from './people/merge.ts'
import { createPeople } from './people/service.ts'
import { recordingActor } from './recordings/actor.ts'
import { recordingErasure, speakerErasure } from './recordings/erasure.ts'
import { passageActor } from './search/actor.ts'
import { signInActor } from './sign-in/actor.ts'
import { invitationActor } from './sign-in/invitation-actor.ts'
import { themesActor } from './themes/actor.ts'
import { transcriptionActor } from './transcribe/actor.ts'
import { transcriptErasure } from './transcripts/erasure.ts'
import { fileNameErasure, otherFileNameErasure } from './uploads/erasure.ts'
import { webhookActors } from './webhooks/actor.ts'
import { webhookErasure } from './webhooks/erasure.ts'
import { formActors } from './website/actor.ts'
import { weeklyMailActor } from './weekly-mail/actor.ts'
import { visitorFeedbackActor } from './widget/actor.ts'
import { visitorFeedbackErasure } from './widget/erasure.ts'

export function actorsOf(deps: Deps, services: Services): readonly ActorDefinition[] {
  const { identity, applications, ingest, reading, insight, movers } = services
  return [
    sessionActor(deps),
    analysisActor(deps),
    sessionReanalysisActor(deps),
    insightActor(deps),
    findingGateActor(),
    insightReanalysisActor(deps),
    passageActor(deps),
    themesActor(deps),
    recordingActor(deps),
    transcriptionActor(deps),
    meetingActor(deps),
    ...formActors(deps),
    visitorFeedbackActor(createStoreVisitorFeedback({ ...deps, applications, ingest })),
    codingSessionActor({ ...deps, ...reading }),
    traceActor({ append: ingest.append, applications }),
    importSourceActor({ ...deps, append: ingest.append, applications }),
    feedbackImportActor({ ...deps, people: createPeople(deps) }),
    ...webhookActors(deps),
    signInActor({ ...deps, identity }),
    invitationActor({ ...deps, identity }),
    weeklyMailActor({ ...deps, insight }),
    personMergeActor(movers),
    erasureActor(deps, [
      visitorFeedbackErasure,
      traceErasure,
      sessionErasure(deps),
      recordingErasure,
      speakerErasure,
      transcriptErasure,
      valueErasure,
      fileNameErasure,
      otherFileNameErasure,
      codingSessionErasure,
      feedbackImportErasure,
      webhookErasure,
      recorderErasure,
    ]),
  ]
}
