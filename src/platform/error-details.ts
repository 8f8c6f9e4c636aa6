/**
 * What an error body may hold beside its code: the closed set of `details[].code`, and the members that name the object or
 * the limit in question. The OpenAPI document shows both, and the compiler refuses any other.
 */

/** `details[].code` → what it means. */
export const DETAIL_CODES = {
  type: 'The value is of another JSON type.',
  required: 'The member is missing.',
  unknown_member: 'There is no such member or parameter.',
  not_allowed: 'The value is none of those allowed, or the member does not belong here.',
  length: 'The text is too short or too long, or the array has too few or too many items.',
  blank: 'The text is blank.',
  range: 'The number or the moment is out of range.',
  pattern: 'The text does not have the required form.',
  format: 'The text is not in the required format, such as an e-mail address.',
  date_time: 'The text is not an RFC 3339 date-time with offset.',
  uuid: 'The text is not a UUID.',
  cursor: 'The text is not a cursor of this list.',
  too_deep: 'The page is too far from the start of the list: go on with `next_cursor`.',
  repeated: 'The parameter is given more than once.',
  not_storable: 'The value cannot be stored: U+0000, an unpaired surrogate, an infinite number, or too deep.',
  contradiction: 'The member contradicts another one.',
  duplicate: 'The same thing is given twice with different values.',
  order: 'The item stands before the one that it follows.',
  overlap: 'The utterance overlaps an earlier one of the same speaker.',
  same_person: 'Two participants are the same person.',
  same_speaker: 'Two participants are the same speaker.',
  speaker_without_utterance: 'The participant is the speaker of no utterance.',
  not_found: 'There is no such object.',
  not_a_member: 'The user is not a member of the organization.',
  url_not_allowed: 'The URL is malformed, or its host is not public.',
  metadata_value_type_mismatch: 'The value is not of the type of its field.',
  metadata_field_not_canonical: 'The field is not one of the canonical source.',
  metadata_field_duplicate: 'The field has two values in the request.',
  environment_not_allowed: 'The application does not allow this environment.',
  event_too_large: 'The event is too large.',
  invalid_feedback_target: 'The feedback is not about an earlier assistant message of its session.',
  event_changed: 'The event is stored with other content.',
  event_sequence_moved: 'The event is stored with another sequence.',
  event_type_changed: 'The event is stored with another type.',
  sequence_occupied: 'Another event has this sequence.',
  event_finalized: 'The event is final, and sent as partial.',
} as const

export type DetailCode = keyof typeof DETAIL_CODES

/** Members of an error body that only some codes have. JSON Schema, as the OpenAPI document shows them. */
export const ERROR_MEMBERS = {
  recordingId: {
    type: 'string',
    format: 'uuid',
    description: 'With `recording_external_id_exists`: the recording that has the external id.',
  },
  id: {
    type: 'integer',
    description: 'With `external_id_exists`: the feedback record that has the external id.',
  },
  recordId: { type: 'integer', description: 'Same as `id`.' },
  eventIndex: {
    type: 'integer',
    minimum: 0,
    description: 'Where one event is refused: its position in `events`, from 0.',
  },
  externalEventId: { type: 'string', description: 'Where one event is refused: its `externalEventId`.' },
  index: {
    type: 'integer',
    minimum: 0,
    description: 'Where one utterance is refused: its position in the transcript, from 0.',
  },
  limit: {
    type: 'integer',
    description: 'Where there are too many items or characters: how many are allowed.',
  },
  actual: {
    type: 'integer',
    description: 'Where there are too many items or characters: how many there are.',
  },
  limitBytes: {
    type: 'integer',
    description: 'Where the body, an event or a file is too large: the most bytes it may have.',
  },
  actualBytes: {
    type: 'integer',
    description: 'Where the body or an event is too large: its bytes, as far as they were counted.',
  },
  offset: {
    type: 'integer',
    minimum: 0,
    description: 'With `upload_offset_mismatch`: the byte from which the upload goes on.',
  },
} as const

type ErrorMember = keyof typeof ERROR_MEMBERS

export type ErrorMembers = {
  readonly [Name in ErrorMember]?: (typeof ERROR_MEMBERS)[Name]['type'] extends 'string' ? string : number
}
