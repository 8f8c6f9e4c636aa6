/** Examples of the operations on imports, for the OpenAPI document. */
export const MAPPING = {
  external_id: 'Ticket',
  email: 'Requester',
  timestamp: 'Created',
  columns: { Comment: 'content:string', Score: 'metadata:integer', 'Internal note': '-' },
}

export const IMPORT_EXAMPLE = {
  id: '0198c1f0-0000-7000-8000-000000000007',
  feedback_source_id: 1,
  phase: 'imported',
  error_code: null,
  file_name: 'tickets.csv',
  file_size: 250_000,
  received_bytes: 250_000,
  processed_bytes: 250_000,
  columns: ['Ticket', 'Requester', 'Created', 'Comment', 'Score', 'Internal note'],
  suggested_mapping: MAPPING,
  mapping: MAPPING,
  rows: 2_000,
  imported: 1_990,
  duplicates: 7,
  refused: 3,
  refused_kept: 3,
  created_at: '2026-01-02T09:00:00.000Z',
  started_at: '2026-01-02T09:00:30.000Z',
  ended_at: '2026-01-02T09:00:33.000Z',
}
export const CREATED_EXAMPLE = {
  ...IMPORT_EXAMPLE,
  phase: 'waiting',
  received_bytes: 0,
  processed_bytes: 0,
  columns: null,
  suggested_mapping: null,
  mapping: null,
  rows: 0,
  imported: 0,
  duplicates: 0,
  refused: 0,
  refused_kept: 0,
  started_at: null,
  ended_at: null,
  upload_url: 'https://earshot.example.com/uploads/dGhpcyBpcyBvbmx5IGFuIGV4YW1wbGU',
  timeout_seconds: 3_600,
}
export const PREVIEW_EXAMPLE = {
  data: [
    {
      line: 2,
      refused: null,
      record: {
        external_id: '2041',
        email: 'ada@example.com',
        display_ts: '2026-01-02T09:00:00Z',
        fields: [{ category: 'content', type: 'string', name: 'comment', value: 'The export is slow.' }],
      },
    },
    { line: 3, refused: 'column "Score": must be of the type integer', record: null },
  ],
  notes: [],
}
