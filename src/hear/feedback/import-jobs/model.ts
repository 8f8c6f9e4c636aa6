/** Shapes and limits of imports of CSV files in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../../../platform/validation/names.ts'
import {
  count,
  createdAt,
  integerId,
  moment,
  named,
  oneOf,
  orNull,
  text,
  trimmedText,
  uuid,
} from '../../../platform/validation/schema.ts'
import { CATEGORIES, FIELD_TYPES, Field } from '../model.ts'

/** 1 GiB. */
const MAX_IMPORT_BYTES = 1024 ** 3
/** Imports of an organization that have not ended. */
export const MAX_OPEN_IMPORTS = 20
export const LISTED_IMPORTS = 20
/** Refused rows that are kept, characters of their cells, and days after the end of the import. */
export const KEPT_REFUSALS = 10_000
export const KEPT_UNITS = 16 * 1024 * 1024
export const KEPT_DAYS = 7

export const CreateImport = Type.Object(
  {
    file_name: trimmedText('Name of the file.', MAX_NAME),
    file_size: Type.Integer({
      minimum: 1,
      maximum: MAX_IMPORT_BYTES,
      description: 'Size of the file in bytes. The upload is complete when exactly this many have arrived.',
    }),
    delimiter: Type.Optional(
      Type.String({
        pattern: '^[^"\\r\\n\\u0000]$',
        words: 'one character that is no quote and no line end',
        description:
          'The character between two cells. Default: found by the header (`sep=`, comma, semicolon, tab or vertical bar).',
      }),
    ),
    upload_key: Type.Optional(
      text(
        'Your id of this import. The same id again returns the same import, so that a client can continue after it lost the answer. ' +
          '1 to 255 characters.',
        { minLength: 1, maxLength: 255 },
      ),
    ),
  },
  { additionalProperties: false },
)
export type CreateImport = Readonly<Static<typeof CreateImport>>

const column = (description: string) => Type.Optional(Type.String({ description }))

const ImportMapping = named(
  'FeedbackImportMapping',
  Type.Object(
    {
      external_id: column(
        'Column with the external id of a record. Default: `external_id`, if the file has it.',
      ),
      email: column('Column with the e-mail address of the person. Default: `email`.'),
      timestamp: column(
        'Column with the moment of the feedback: RFC 3339, SQL, `02.01.2026 09:00`, a day, or the number of a spreadsheet; UTC if there is no offset. Default: `display_ts`.',
      ),
      columns: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description:
            'Meaning by column: `category:type:name`, type and name optional, or `-` to leave the column out. Categories: ' +
            `${CATEGORIES.join(', ')}. Types: ${FIELD_TYPES.join(', ')}. A column that is not mentioned becomes a \`metadata\` string.`,
        }),
      ),
    },
    { additionalProperties: false, description: 'What each column of a file means.' },
  ),
)

export const StartImport = Type.Object(
  {
    mapping: ImportMapping,
    repeat: Type.Optional(
      Type.Boolean({
        description: 'Imports a file that was imported into the source before. Default: false.',
      }),
    ),
  },
  { additionalProperties: false },
)
export const PreviewImport = Type.Object({ mapping: ImportMapping }, { additionalProperties: false })

const IMPORT_PHASES = [
  'waiting',
  'reading',
  'mapping',
  'importing',
  'imported',
  'failed',
  'cancelled',
] as const
export type ImportPhase = (typeof IMPORT_PHASES)[number]
const IMPORT_ERRORS = [
  'upload_failed',
  'upload_expired',
  'processing_failed',
  'not_a_csv_file',
  'utf_16_file',
  'import_expired',
] as const

const members = {
  id: uuid('Id of the import.'),
  feedback_source_id: integerId('Id of the source.'),
  phase: oneOf(
    IMPORT_PHASES,
    '`waiting`: bytes are missing or arriving; `reading`: the head of the file is read; `mapping`: the import waits until it is ' +
      'started; `importing`: rows are stored. The final phases are `imported`, `failed` and `cancelled`.',
  ),
  error_code: orNull(
    oneOf(IMPORT_ERRORS),
    'Why the import failed; null if it did not. `not_a_csv_file`: the file has no header in UTF-8; `utf_16_file`: it is ' +
      'UTF-16 and must be saved as UTF-8; `import_expired`: it was not started within 7 days.',
  ),
  file_name: Type.String({ description: `Name of the file: 1 to ${MAX_NAME} characters.` }),
  file_size: Type.Integer({ minimum: 1, description: 'Size of the file in bytes.' }),
  received_bytes: count('Bytes of the file that have arrived.'),
  processed_bytes: count('Bytes of the file whose rows are done.'),
  columns: orNull(Type.Array(Type.String()), 'The header of the file; null until it was read.'),
  suggested_mapping: orNull(
    ImportMapping,
    'A guess from the header and the first rows; null until they were read.',
  ),
  mapping: orNull(ImportMapping, 'The mapping of the started import; null before.'),
  rows: count('Rows that are done.'),
  imported: count('Rows that became records.'),
  duplicates: count('Rows whose external id the source had already.'),
  refused: count('Rows that were refused.'),
  refused_kept: count(
    `Refused rows that can be downloaded: the first ${KEPT_REFUSALS.toLocaleString('en')} and at most ${KEPT_UNITS / 1024 ** 2} MiB, for ${KEPT_DAYS} days after the end.`,
  ),
  created_at: createdAt,
  started_at: orNull(moment('A moment.'), 'When the import was started, in UTC; null before.'),
  ended_at: orNull(moment('A moment.'), 'When the import ended, in UTC; null before.'),
}
export const Import = named('FeedbackImport', Type.Object(members))

export const CreatedImport = named(
  'CreatedFeedbackImport',
  Type.Object({
    ...members,
    upload_url: Type.String({
      format: 'uri',
      description: 'The URL to send the file to. It is a secret for this one file: neither log nor store it.',
    }),
    timeout_seconds: count('The upload expires if no bytes arrive for so long.'),
  }),
)

export const ImportList = named(
  'FeedbackImportList',
  Type.Object({ data: Type.Array(Import, { description: `The newest ${LISTED_IMPORTS}.` }) }),
)

export const ImportPreview = named(
  'FeedbackImportPreview',
  Type.Object({
    data: Type.Array(
      Type.Object({
        line: Type.Integer({ minimum: 1, description: 'The line of the file on which the row starts.' }),
        refused: orNull(Type.String(), 'Why the row would be refused; null if it would be imported.'),
        record: orNull(
          Type.Object({
            external_id: orNull(Type.String(), 'The external id; null if the row has none.'),
            email: orNull(Type.String(), 'The e-mail address of the person; null if the row has none.'),
            display_ts: orNull(
              moment('A moment.'),
              'When the feedback was given, in UTC; null: the time of the import.',
            ),
            fields: Type.Array(Field, { description: 'The values of the record.' }),
          }),
          'What would be stored; null if the row would be refused.',
        ),
      }),
      { description: 'At most the first 20 rows.' },
    ),
    notes: Type.Array(Type.String(), {
      description:
        'What the mapping leaves unused, such as a column that looks like a time, and whether no column is read as what the customer said.',
    }),
  }),
)
