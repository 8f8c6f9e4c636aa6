/** Every actor of the service. A feature that adds an actor adds its declaration here. */
import { kindsOf } from '../../actors/declaration.ts'
import { analysisMessages, sessionReanalysisMessages } from './analysis.ts'
import { codingSessionMessages } from './coding-session.ts'
import { erasureMessages } from './erasure.ts'
import { feedbackImportMessages } from './feedback-import.ts'
import { findingGateMessages } from './finding-gate.ts'
import { confirmationMessages, formMessages } from './form.ts'
import { importSourceMessages } from './import-source.ts'
import { insightMessages, insightReanalysisMessages } from './insight.ts'
import { invitationMessages } from './invitation.ts'
import { meetingMessages } from './meeting.ts'
import { passageMessages } from './passage.ts'
import { personMergeMessages } from './person-merge.ts'
import { recordingMessages } from './recording.ts'
import { sessionMessages } from './session.ts'
import { signInMessages } from './sign-in.ts'
import { themesMessages } from './themes.ts'
import { traceMessages } from './trace.ts'
import { transcriptionMessages } from './transcription.ts'
import { visitorFeedbackMessages } from './visitor-feedback.ts'
import {
  webhookDeliveryMessages,
  webhookMessages,
  webhookNoticeMessages,
  webhookRecoveryMessages,
} from './webhook.ts'
import { weeklyMailMessages } from './weekly-mail.ts'

export const ACTOR_KINDS = kindsOf([
  sessionMessages,
  analysisMessages,
  sessionReanalysisMessages,
  insightMessages,
  findingGateMessages,
  insightReanalysisMessages,
  recordingMessages,
  transcriptionMessages,
  meetingMessages,
  formMessages,
  confirmationMessages,
  erasureMessages,
  passageMessages,
  themesMessages,
  personMergeMessages,
  webhookMessages,
  webhookDeliveryMessages,
  webhookRecoveryMessages,
  webhookNoticeMessages,
  signInMessages,
  invitationMessages,
  weeklyMailMessages,
  codingSessionMessages,
  feedbackImportMessages,
  traceMessages,
  visitorFeedbackMessages,
  importSourceMessages,
])
