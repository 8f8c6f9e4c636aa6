/**
 * The owner of each table: the only folder of `src` whose SQL names the table. `tests/architecture.test.ts` compares this
 * list with the SQL. Exceptions stand below, each with its reason.
 */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  actors: ['actor_dead_letter', 'actor_mailbox', 'actor_message', 'maintenance', 'worker'],
  agents: [
    'agent_application',
    'agent_application_settings',
    'agent_event',
    'agent_event_revision',
    'agent_response',
    'agent_late_event',
    'agent_session',
    'agent_signal',
    'agent_usage',
  ],
  feedback: ['feedback_record', 'feedback_source'],
  folders: ['folder', 'upload_batch'],
  identity: [
    'agent_secret',
    'api_key',
    'app_user',
    'credit_entry',
    'former_member',
    'membership',
    'organization',
    'user_token',
    'user_token_refusal',
  ],
  media: ['media_garbage'],
  metadata: ['metadata_field', 'metadata_record', 'metadata_source', 'metadata_value'],
  people: ['company', 'person', 'person_erasure'],
  platform: ['data_change', 'schema_migration'],
  recordings: ['recording', 'recording_folder', 'recording_participant'],
  transcripts: ['transcript_search', 'transcript_utterance'],
  uploads: ['upload', 'upload_garbage', 'upload_part'],
  website: ['form_submission'],
}

interface Exception {
  readonly table: string
  readonly folder: string
  readonly writes?: true
  readonly reason: string
}

export const EXCEPTIONS: readonly Exception[] = [
  { table: 'actor_message', folder: 'agents', reason: 'Finds sessions that have no message waiting.' },
  {
    table: 'agent_application',
    folder: 'identity',
    reason: 'A secret is inserted only for an existing application.',
  },
  {
    table: 'agent_response',
    folder: 'identity',
    reason: 'Added credits wake the responses that wait for them.',
  },
  {
    table: 'agent_session',
    folder: 'identity',
    reason: 'Added credits wake the sessions of these responses.',
  },
  { table: 'folder', folder: 'recordings', reason: 'Lists join the visible folders of each recording.' },
  { table: 'membership', folder: 'agents', reason: 'A resolving user must be a member.' },
  {
    table: 'organization',
    folder: 'agents',
    writes: true,
    reason: 'Metering locks the balance and takes credits.',
  },
  {
    table: 'organization',
    folder: 'uploads',
    reason: 'Creating an upload locks the limit of its organization.',
  },
  { table: 'person', folder: 'recordings', reason: 'Participants are shown with the names of people.' },
  { table: 'recording', folder: 'assets', writes: true, reason: 'The only writer of the columns `asset_*`.' },
  { table: 'recording', folder: 'folders', reason: 'Visibility of recordings follows from folders.' },
  { table: 'recording', folder: 'media', reason: 'Finds media to retry, and the objects of a recording.' },
  { table: 'recording', folder: 'transcribe', writes: true, reason: 'Transcription stores its status.' },
  {
    table: 'recording',
    folder: 'transcripts',
    writes: true,
    reason: 'A new transcript changes its status and summary.',
  },
  { table: 'recording', folder: 'uploads', reason: 'An upload changes under the lock of its recording.' },
  { table: 'recording_folder', folder: 'folders', reason: 'Visibility of recordings follows from folders.' },
  { table: 'worker', folder: 'cli', reason: '`earshot doctor` counts active workers.' },
]
