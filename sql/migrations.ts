/** Every migration, in order, embedded as text: the compiled binary carries them. Append; never edit or reorder. */
import type { Migration } from '../src/platform/db/migrate.ts'
import identity from './migrations/0001_identity.sql' with { type: 'text' }
import actors from './migrations/0002_actors.sql' with { type: 'text' }
import agents from './migrations/0003_agents.sql' with { type: 'text' }
import people from './migrations/0004_people.sql' with { type: 'text' }
import metadata from './migrations/0005_metadata.sql' with { type: 'text' }
import recordings from './migrations/0006_recordings.sql' with { type: 'text' }
import website from './migrations/0007_website.sql' with { type: 'text' }
import feedback from './migrations/0008_feedback.sql' with { type: 'text' }
import media from './migrations/0009_media.sql' with { type: 'text' }
import uploads from './migrations/0010_uploads.sql' with { type: 'text' }
import actorDeaths from './migrations/0011_actor_deaths.sql' with { type: 'text' }
import keptUploads from './migrations/0012_kept_uploads.sql' with { type: 'text' }
import blame from './migrations/0015_blame.sql' with { type: 'text' }
import actorOrganization from './migrations/0016_actor_organization.sql' with { type: 'text' }
import listIndexes from './migrations/0017_list_indexes.sql' with { type: 'text' }
import sessionTurns from './migrations/0019_session_turns.sql' with { type: 'text' }
import userTokens from './migrations/0022_user_tokens.sql' with { type: 'text' }
import personErasure from './migrations/0023_person_erasure.sql' with { type: 'text' }
import searchByOrganization from './migrations/0024_search_by_organization.sql' with { type: 'text' }
import resumeState from './migrations/0025_resume_state.sql' with { type: 'text' }
import dataChange from './migrations/0026_data_change.sql' with { type: 'text' }
import standardNames from './migrations/0027_standard_names.sql' with { type: 'text' }
import signIn from './migrations/0028_sign_in.sql' with { type: 'text' }
import administration from './migrations/0029_administration.sql' with { type: 'text' }
import meetingJoins from './migrations/0030_meeting_joins.sql' with { type: 'text' }
import webhooks from './migrations/0031_webhooks.sql' with { type: 'text' }
import codingSessions from './migrations/0032_coding_sessions.sql' with { type: 'text' }
import codingAgentTools from './migrations/0033_coding_agent_tools.sql' with { type: 'text' }
import codingSessionUploads from './migrations/0034_coding_session_uploads.sql' with { type: 'text' }
import deadLetterOrganization from './migrations/0035_dead_letter_organization.sql' with { type: 'text' }
import webhookSignalUpdate from './migrations/0036_webhook_signal_update.sql' with { type: 'text' }
import mediaUploadWebhooks from './migrations/0037_media_upload_webhooks.sql' with { type: 'text' }
import auditByAction from './migrations/0041_audit_by_action.sql' with { type: 'text' }
import findings from './migrations/0042_findings.sql' with { type: 'text' }
import findingIndexes from './migrations/0043_finding_indexes.sql' with { type: 'text' }
import onePerson from './migrations/0045_one_person.sql' with { type: 'text' }
import timelineIndexes from './migrations/0046_timeline_indexes.sql' with { type: 'text' }
import searchPassage from './migrations/0047_search_passage.sql' with { type: 'text' }
import searchDocument from './migrations/0048_search_document.sql' with { type: 'text' }
import validatedFindings from './migrations/0054_validated_findings.sql' with { type: 'text' }
import shownSignals from './migrations/0055_shown_signals.sql' with { type: 'text' }
import signalChannels from './migrations/0057_signal_channels.sql' with { type: 'text' }
import themes from './migrations/0058_themes.sql' with { type: 'text' }
import themeFeed from './migrations/0059_theme_feed.sql' with { type: 'text' }
import insightCounts from './migrations/0060_insight_counts.sql' with { type: 'text' }
import countLevelsAndWeeklyMail from './migrations/0061_count_levels_and_weekly_mail.sql' with {
  type: 'text',
}
import eventStream from './migrations/0062_event_stream.sql' with { type: 'text' }
import searchByWeek from './migrations/0063_search_by_week.sql' with { type: 'text' }
import signalListIndexes from './migrations/0064_signal_list_indexes.sql' with { type: 'text' }
import foundKind from './migrations/0065_found_kind.sql' with { type: 'text' }
import placeOfFeedback from './migrations/0066_place_of_feedback.sql' with { type: 'text' }
import publishableKeys from './migrations/0067_publishable_keys.sql' with { type: 'text' }
import demoOrganization from './migrations/0069_demo_organization.sql' with { type: 'text' }
import feedbackImports from './migrations/0071_feedback_imports.sql' with { type: 'text' }
import otlp from './migrations/0073_otlp.sql' with { type: 'text' }
import importSources from './migrations/0074_import_sources.sql' with { type: 'text' }
import analysisTokens from './migrations/0076_analysis_tokens.sql' with { type: 'text' }
import invitations from './migrations/0078_invitations.sql' with { type: 'text' }
import nearestResponses from './migrations/0079_nearest_responses.sql' with { type: 'text' }
import signInMails from './migrations/0080_sign_in_mails.sql' with { type: 'text' }
import recordingBegan from './migrations/0085_recording_began.sql' with { type: 'text' }
import invitationConsent from './migrations/0090_invitation_consent.sql' with { type: 'text' }
import addresses from './migrations/0091_addresses.sql' with { type: 'text' }
import toolApprovals from './migrations/0092_tool_approvals.sql' with { type: 'text' }
import eventStreamEpoch from './migrations/0096_event_stream_epoch.sql' with { type: 'text' }
import weeklyMailMailboxes from './migrations/0097_weekly_mail_mailboxes.sql' with { type: 'text' }
import usageCounts from './migrations/0100_usage_counts.sql' with { type: 'text' }
import quotas from './migrations/0101_quotas.sql' with { type: 'text' }
import whenReceived from './migrations/0103_when_received.sql' with { type: 'text' }
import begunMessages from './migrations/0106_begun_messages.sql' with { type: 'text' }
import actorsOfRows from './migrations/0107_actors_of_rows.sql' with { type: 'text' }
import themeVectors from './migrations/0110_theme_vectors.sql' with { type: 'text' }
import themeQuotations from './migrations/0111_theme_quotations.sql' with { type: 'text' }
import searchWords from './migrations/0113_search_words.sql' with { type: 'text' }
import searchWordsIndexes from './migrations/0114_search_words_indexes.sql' with { type: 'text' }
import searchVectors from './migrations/0115_search_vectors.sql' with { type: 'text' }
import sessionTimes from './migrations/0117_session_times.sql' with { type: 'text' }
import sessionBegan from './migrations/0118_session_began.sql' with { type: 'text' }
import coverage from './migrations/0119_coverage.sql' with { type: 'text' }
import validatedCoverage from './migrations/0120_validated_coverage.sql' with { type: 'text' }
import eventOrigins from './migrations/0123_event_origins.sql' with { type: 'text' }
import webhookMailboxOrganization from './migrations/0127_webhook_mailbox_organization.sql' with {
  type: 'text',
}
import feedbackByTime from './migrations/0128_feedback_by_time.sql' with { type: 'text' }
import transcriptError from './migrations/0129_transcript_error.sql' with { type: 'text' }
import organizationErasure from './migrations/0130_organization_erasure.sql' with { type: 'text' }
import feedbackOfEverySource from './migrations/0131_feedback_of_every_source.sql' with { type: 'text' }
import timeZone from './migrations/0132_time_zone.sql' with { type: 'text' }
import redactionRules from './migrations/0137_redaction_rules.sql' with { type: 'text' }
import erasureOfOrganizations from './migrations/0138_erasure_of_organizations.sql' with { type: 'text' }
import themeVectorVersion from './migrations/0141_theme_vector_version.sql' with { type: 'text' }

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'identity', source: identity },
  { number: 2, name: 'actors', source: actors },
  { number: 3, name: 'agents', source: agents },
  { number: 4, name: 'people', source: people },
  { number: 5, name: 'metadata', source: metadata },
  { number: 6, name: 'recordings', source: recordings },
  { number: 7, name: 'website', source: website },
  { number: 8, name: 'feedback', source: feedback },
  { number: 9, name: 'media', source: media },
  { number: 10, name: 'uploads', source: uploads },
  { number: 11, name: 'actor_deaths', source: actorDeaths },
  { number: 12, name: 'kept_uploads', source: keptUploads },
  { number: 15, name: 'blame', source: blame },
  { number: 16, name: 'actor_organization', source: actorOrganization },
  { number: 17, name: 'list_indexes', source: listIndexes },
  { number: 19, name: 'session_turns', source: sessionTurns },
  { number: 22, name: 'user_tokens', source: userTokens },
  { number: 23, name: 'person_erasure', source: personErasure },
  { number: 24, name: 'search_by_organization', source: searchByOrganization },
  { number: 25, name: 'resume_state', source: resumeState },
  { number: 26, name: 'data_change', source: dataChange },
  { number: 27, name: 'standard_names', source: standardNames },
  { number: 28, name: 'sign_in', source: signIn },
  { number: 29, name: 'administration', source: administration },
  { number: 30, name: 'meeting_joins', source: meetingJoins },
  { number: 31, name: 'webhooks', source: webhooks },
  { number: 32, name: 'coding_sessions', source: codingSessions },
  { number: 33, name: 'coding_agent_tools', source: codingAgentTools },
  { number: 34, name: 'coding_session_uploads', source: codingSessionUploads },
  { number: 35, name: 'dead_letter_organization', source: deadLetterOrganization },
  { number: 36, name: 'webhook_signal_update', source: webhookSignalUpdate },
  { number: 37, name: 'media_upload_webhooks', source: mediaUploadWebhooks },
  { number: 41, name: 'audit_by_action', source: auditByAction },
  { number: 42, name: 'findings', source: findings },
  { number: 43, name: 'finding_indexes', source: findingIndexes },
  { number: 45, name: 'one_person', source: onePerson },
  { number: 46, name: 'timeline_indexes', source: timelineIndexes },
  { number: 47, name: 'search_passage', source: searchPassage },
  { number: 48, name: 'search_document', source: searchDocument },
  { number: 54, name: 'validated_findings', source: validatedFindings },
  { number: 55, name: 'shown_signals', source: shownSignals },
  { number: 57, name: 'signal_channels', source: signalChannels },
  { number: 58, name: 'themes', source: themes },
  { number: 59, name: 'theme_feed', source: themeFeed },
  { number: 60, name: 'insight_counts', source: insightCounts },
  { number: 61, name: 'count_levels_and_weekly_mail', source: countLevelsAndWeeklyMail },
  { number: 62, name: 'event_stream', source: eventStream },
  { number: 63, name: 'search_by_week', source: searchByWeek },
  { number: 64, name: 'signal_list_indexes', source: signalListIndexes },
  { number: 65, name: 'found_kind', source: foundKind },
  { number: 66, name: 'place_of_feedback', source: placeOfFeedback },
  { number: 67, name: 'publishable_keys', source: publishableKeys },
  { number: 69, name: 'demo_organization', source: demoOrganization },
  { number: 71, name: 'feedback_imports', source: feedbackImports },
  { number: 73, name: 'otlp', source: otlp },
  { number: 74, name: 'import_sources', source: importSources },
  { number: 76, name: 'analysis_tokens', source: analysisTokens },
  { number: 78, name: 'invitations', source: invitations },
  { number: 79, name: 'nearest_responses', source: nearestResponses },
  { number: 80, name: 'sign_in_mails', source: signInMails },
  { number: 85, name: 'recording_began', source: recordingBegan },
  { number: 90, name: 'invitation_consent', source: invitationConsent },
  { number: 91, name: 'addresses', source: addresses },
  { number: 92, name: 'tool_approvals', source: toolApprovals },
  { number: 96, name: 'event_stream_epoch', source: eventStreamEpoch },
  { number: 97, name: 'weekly_mail_mailboxes', source: weeklyMailMailboxes },
  { number: 100, name: 'usage_counts', source: usageCounts },
  { number: 101, name: 'quotas', source: quotas },
  { number: 103, name: 'when_received', source: whenReceived },
  { number: 106, name: 'begun_messages', source: begunMessages },
  { number: 107, name: 'actors_of_rows', source: actorsOfRows },
  { number: 110, name: 'theme_vectors', source: themeVectors },
  { number: 111, name: 'theme_quotations', source: themeQuotations },
  { number: 113, name: 'search_words', source: searchWords },
  { number: 114, name: 'search_words_indexes', source: searchWordsIndexes },
  { number: 115, name: 'search_vectors', source: searchVectors },
  { number: 117, name: 'session_times', source: sessionTimes },
  { number: 118, name: 'session_began', source: sessionBegan },
  { number: 119, name: 'coverage', source: coverage },
  { number: 120, name: 'validated_coverage', source: validatedCoverage },
  { number: 123, name: 'event_origins', source: eventOrigins },
  { number: 127, name: 'webhook_mailbox_organization', source: webhookMailboxOrganization },
  { number: 128, name: 'feedback_by_time', source: feedbackByTime },
  { number: 129, name: 'transcript_error', source: transcriptError },
  { number: 130, name: 'organization_erasure', source: organizationErasure },
  { number: 131, name: 'feedback_of_every_source', source: feedbackOfEverySource },
  { number: 132, name: 'time_zone', source: timeZone },
  { number: 137, name: 'redaction_rules', source: redactionRules },
  { number: 138, name: 'erasure_of_organizations', source: erasureOfOrganizations },
  { number: 141, name: 'theme_vector_version', source: themeVectorVersion },
]
