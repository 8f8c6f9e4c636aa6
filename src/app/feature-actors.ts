/** The actors of every feature, for worker threads. This is the only list of them. */

import { signInActor } from '../access/sign-in/actor.ts'
import { invitationActor } from '../access/sign-in/invitation-actor.ts'
import type { ActorDefinition } from '../actors/types.ts'
import { insightActor, insightReanalysisActor } from '../analysis/findings/actor.ts'
import { findingGateActor } from '../analysis/findings/gate.ts'
import { meetingActor } from '../calls/meetings/actor.ts'
import { recorderErasure } from '../calls/meetings/discard.ts'
import { valueErasure } from '../calls/metadata/erasure.ts'
import { recordingActor } from '../calls/processing/actor.ts'
import { recordingErasure, speakerErasure } from '../calls/recordings/erasure.ts'
import { fillTimes, nameSpeakers } from '../calls/recordings/participants.ts'
import { transcriptionActor } from '../calls/transcribe/actor.ts'
import { transcriptErasure } from '../calls/transcripts/erasure.ts'
import { fileNameErasure, otherFileNameErasure } from '../calls/uploads/erasure.ts'
import { analysisActor } from '../hear/agents/analysis/actor.ts'
import { sessionReanalysisActor } from '../hear/agents/analysis/reanalysis.ts'
import { createStoreVisitorFeedback } from '../hear/agents/ingest/visitor-feedback.ts'
import { sessionActor } from '../hear/agents/sessions/actor.ts'
import { sessionErasure } from '../hear/agents/sessions/erasure.ts'
import { codingSessionActor } from '../hear/coding-sessions/actor.ts'
import { codingSessionErasure } from '../hear/coding-sessions/erasure.ts'
import { feedbackImportActor } from '../hear/feedback/import-jobs/actor.ts'
import { feedbackImportErasure } from '../hear/feedback/import-jobs/erasure.ts'
import { importSourceActor } from '../hear/importers/sources/actor.ts'
import { traceActor } from '../hear/otlp/actor.ts'
import { traceErasure } from '../hear/otlp/erasure.ts'
import { formActors } from '../hear/website/actor.ts'
import { visitorFeedbackActor } from '../hear/widget/actor.ts'
import { visitorFeedbackErasure } from '../hear/widget/erasure.ts'
import { erasureActor } from '../people/erasure-actor.ts'
import { personMergeActor } from '../people/merge.ts'
import { createPeople } from '../people/service.ts'
import { webhookActors } from '../tell/webhooks/actor.ts'
import { webhookErasure } from '../tell/webhooks/erasure.ts'
import { weeklyMailActor } from '../tell/weekly-mail/actor.ts'
import { passageActor } from '../understand/search/actor.ts'
import { themesActor } from '../understand/themes/actor.ts'
import type { ServiceDeps } from './container.ts'
import type { Services } from './feature-services.ts'

export function actorsOf(deps: ServiceDeps, services: Services): readonly ActorDefinition[] {
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
    meetingActor({ ...deps, facts: { nameSpeakers, fillTimes } }),
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
