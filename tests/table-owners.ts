/**
 * The owner of each table: the only folder of `src` whose SQL names the table. `tests/architecture.test.ts` compares this
 * list with the SQL. Exceptions stand below, each with its reason.
 */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  analyze: ['analysis_tokens'],
  audit: ['audit_entry'],
  actors: ['actor_dead_letter', 'actor_mailbox', 'actor_message', 'maintenance', 'worker'],
  agents: [
    'agent_application',
    'agent_application_settings',
    'agent_event',
    'agent_event_revision',
    'agent_response',
    'agent_late_event',
    'agent_session',
    'agent_session_erasure',
    'agent_session_person',
    'agent_signal',
    'agent_usage',
  ],
  'coding-sessions': ['coding_session', 'coding_session_event', 'coding_session_upload'],
  'event-stream': ['event_stream', 'event_stream_entry'],
  feedback: ['feedback_import', 'feedback_import_refusal', 'feedback_record', 'feedback_source'],
  findings: ['finding_verdict', 'insight_subject', 'kind_precision'],
  folders: ['folder', 'upload_batch'],
  importers: ['import_source'],
  counts: ['day_recount', 'insight_count', 'insight_count_change', 'insight_dimension'],
  identity: [
    'agent_secret',
    'api_key',
    'app_user',
    'credit_entry',
    'former_member',
    'invitation',
    'invitation_mail',
    'membership',
    'oauth_record',
    'organization',
    'organization_erasure',
    'publishable_key',
    'sign_in_link',
    'user_session',
    'user_token',
    'user_token_refusal',
  ],
  media: ['media_garbage'],
  meetings: ['meeting_join'],
  metadata: ['metadata_field', 'metadata_record', 'metadata_source', 'metadata_value'],
  otlp: ['otlp_piece', 'otlp_trace'],
  people: ['company', 'person', 'person_alias', 'person_erasure'],
  platform: ['data_change', 'schema_migration'],
  mcp: ['mcp_approval', 'mcp_question', 'mcp_session'],
  projects: ['project', 'project_session'],
  quotas: ['usage_change', 'usage_count'],
  recordings: ['recording', 'recording_folder', 'recording_participant'],
  search: ['search_configuration', 'search_passage', 'search_vector'],
  'sign-in': ['sign_in_request'],
  themes: ['theme', 'theme_change', 'theme_day', 'theme_item', 'theme_progress', 'theme_term'],
  transcripts: ['transcript_search', 'transcript_utterance'],
  uploads: ['upload', 'upload_garbage', 'upload_part'],
  webhooks: ['webhook', 'webhook_attempt', 'webhook_delivery', 'webhook_event', 'webhook_stream'],
  'weekly-mail': ['weekly_mail'],
  website: ['form_submission'],
}

interface Exception {
  readonly table: string
  readonly folder: string
  readonly writes?: true
  readonly reason: string
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    table: 'organization',
    folder: 'quotas',
    writes: true,
    reason:
      'The quotas of an organization are columns of it. Changes of an organization that is gone are dropped.',
  },
  ...['agent_event', 'agent_session', 'recording', 'upload'].map((table) => ({
    table,
    folder: 'quotas',
    ...(table === 'agent_event' ? {} : { writes: true as const }),
    reason: 'Marks what was stored before quotas as counted, in the background.',
  })),
  {
    table: 'usage_change',
    folder: 'agents',
    writes: true,
    reason:
      'The usage of an application is one statement over the ledger and its counts; older units are counted from the ledger.',
  },
  {
    table: 'usage_count',
    folder: 'agents',
    reason: 'The usage of an application is one statement over the ledger and its counts.',
  },
  ...['agent_session_person', 'agent_signal', 'feedback_record', 'person', 'recording'].map((table) => ({
    table,
    folder: 'themes',
    reason: 'Items of themes are quotations of findings, with who said them, that the caller may see.',
  })),
  {
    table: 'organization',
    folder: 'uploads',
    reason: 'The address of an upload is unknown once the organization is being erased.',
  },
  {
    table: 'organization',
    folder: 'analyze',
    reason: 'An organization that was deleted meanwhile uses no tokens.',
  },
  {
    table: 'organization',
    folder: 'themes',
    reason: 'Themes of an organization that was deleted meanwhile are not made.',
  },
  ...['feedback_record', 'person', 'recording', 'recording_participant', 'transcript_utterance'].map(
    (table) => ({
      table,
      folder: 'findings',
      reason: 'What customers said on every channel is analysed.',
    }),
  ),
  {
    table: 'agent_session',
    folder: 'findings',
    reason: 'Sessions of the time before there was an analysis are entered for it.',
  },
  {
    table: 'organization',
    folder: 'findings',
    reason: 'Organizations take turns in what another analyser has read.',
  },
  {
    table: 'agent_signal',
    folder: 'findings',
    writes: true,
    reason: 'A finding of any channel is a signal, so that lists and counts stand once.',
  },
  ...[
    'agent_application',
    'agent_event',
    'agent_session',
    'agent_session_person',
    'feedback_record',
    'feedback_source',
    'person',
    'person_alias',
    'recording',
    'recording_participant',
    'transcript_utterance',
  ].map((table) => ({
    table,
    folder: 'search',
    reason:
      'What was said on every channel is indexed and shown, with the conditions of access of its owner.',
  })),
  ...[
    'agent_application',
    'agent_event',
    'agent_session_person',
    'feedback_source',
    'recording_participant',
    'transcript_utterance',
  ].map((table) => ({
    table,
    folder: 'counts',
    reason:
      'Counts and timelines read what every channel has heard, with the conditions of access of its owner.',
  })),
  ...['agent_session', 'agent_signal', 'feedback_record', 'insight_subject', 'recording'].map((table) => ({
    table,
    folder: 'counts',
    writes: true as const,
    reason: 'Owns the column `counted`, and counts the rows, with the conditions of access of their owner.',
  })),
  {
    table: 'organization',
    folder: 'counts',
    reason: 'Counts of an organization that was deleted meanwhile are dropped.',
  },
  ...['feedback_record', 'person', 'person_alias', 'recording'].map((table) => ({
    table,
    folder: 'agents',
    reason: 'The list of signals spans every channel, with the conditions of access of its owner.',
  })),
  {
    table: 'insight_subject',
    folder: 'feedback',
    reason: 'A record says whether it was analysed.',
  },
  {
    table: 'insight_subject',
    folder: 'recordings',
    reason: 'A recording is read with its outcome.',
  },
  ...['theme', 'theme_item'].map((table) => ({
    table,
    folder: 'counts',
    reason: 'Signals are counted by their themes.',
  })),
  ...['app_user', 'membership', 'organization'].map((table) => ({
    table,
    folder: 'weekly-mail',
    reason: 'The weekly mail goes to members, and names their organization.',
  })),
  {
    table: 'actor_message',
    folder: 'agents',
    reason: 'The statement that stores events sends a message only to sessions that have none waiting.',
  },
  {
    table: 'agent_application',
    folder: 'identity',
    reason: 'The statement that inserts a secret requires that its application exists.',
  },
  {
    table: 'coding_session',
    folder: 'projects',
    reason: 'A project lists and associates only sessions that the caller may see.',
  },
  {
    table: 'recording',
    folder: 'event-stream',
    reason: 'An event about a recording is sent only to clients that see the recording.',
  },
  { table: 'folder', folder: 'recordings', reason: 'A recording is read with its visible folders.' },
  {
    table: 'insight_subject',
    folder: 'agents',
    reason: 'A session is read with its outcome.',
  },
  {
    table: 'organization',
    folder: 'audit',
    reason: 'Entries of an organization that was deleted meanwhile are left out.',
  },
  {
    table: 'organization',
    folder: 'agents',
    reason: 'Sessions and applications are read with the switches and credits of their organization.',
  },
  {
    table: 'meeting_join',
    folder: 'recordings',
    reason: 'A recording is read with the progress of its meeting.',
  },
  { table: 'person', folder: 'recordings', reason: 'Participants are read with the names of people.' },
  {
    table: 'recording',
    folder: 'assets',
    writes: true,
    reason: 'Owns the columns `asset_*`, which no other folder writes.',
  },
  {
    table: 'recording',
    folder: 'meetings',
    reason: 'A finished join is removed once its recording is gone.',
  },
  {
    table: 'search_passage',
    folder: 'transcripts',
    writes: true,
    reason: 'With a transcript goes what searches have of it, in the same transaction.',
  },
  {
    table: 'recording',
    folder: 'transcripts',
    writes: true,
    reason:
      'Owns the columns of the transcript and of the automatic summary. One search looks in transcripts and in names of recordings.',
  },
  {
    table: 'recording',
    folder: 'uploads',
    reason: 'A recording is found, and locked, by its upload in one statement.',
  },
  {
    table: 'feedback_record',
    folder: 'webhooks',
    reason: 'An erasure looks for events about records that are gone.',
  },
  ...['agent_event', 'recording'].map((table) => ({
    table,
    folder: 'webhooks',
    reason: 'An erasure looks whether an event repeats what was received before.',
  })),
  {
    table: 'organization',
    folder: 'webhooks',
    reason: 'The mail about a disabled webhook names its organization.',
  },
  ...['recording', 'recording_folder'].map((table) => ({
    table,
    folder: 'folders',
    reason: 'Visibility of recordings follows from folders.',
  })),
]
