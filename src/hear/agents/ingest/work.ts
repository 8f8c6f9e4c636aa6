/**
 * The part of ingestion that needs CPU time and no database: parsing, judging, redacting and hashing. It runs on the HTTP thread or
 * on another thread (platform/concurrency). Each thread keeps its own compiled redaction settings.
 */
import { parseBounded } from '../../../http/parse-body.ts'
import { join, sizeOf } from '../../../platform/concurrency/parts.ts'
import { dataOfError, type ErrorData, type Spend, type Work } from '../../../platform/concurrency/work.ts'
import { AppError } from '../../../platform/errors.ts'
import { createUnknownMembers } from '../../../platform/validation/unknown-members.ts'
import { AppendRequest, IngestRequest } from '../request-model.ts'
import { withIds } from './append.rules.ts'
import {
  type ByRules,
  bodiesOf,
  createRedactors,
  fingerprintsOf,
  type PreparedRequest,
  prepare,
  type SettingsVersion,
} from './prepare.ts'
import { checkRequest, parseAppendRequest, parseRequest } from './request.rules.ts'

/** `append`: the service numbers the events of the request. `ingest`: the caller has numbered them. */
export type IngestMode = 'ingest' | 'append'

const UNKNOWN = {
  ingest: createUnknownMembers(IngestRequest),
  append: createUnknownMembers(AppendRequest),
} as const

interface IngestInput extends SettingsVersion {
  /** The body as sent. */
  readonly parts: Uint8Array[]
  readonly applicationId: string
  readonly mode: IngestMode
}

interface JudgedRequest {
  /** The key as sent; null where it is no text. It is checked before the rest of the request. */
  readonly agentKey: string | null
  readonly outcome: { readonly prepared: PreparedRequest } | { readonly refusal: ErrorData }
}

export interface IngestWork {
  /** @throws AppError 400 `malformed_json`, `too_many_values`, `validation_failed` where the body is no readable JSON */
  readonly judge: Work<IngestInput, JudgedRequest>
  /** The fingerprints of an accepted request's events under another settings version. */
  readonly fingerprints: Work<IngestInput, ByRules<Uint8Array>>
  /** The bodies of an accepted append's events under another settings version. */
  readonly bodies: Work<IngestInput, ByRules<string>>
}

export function createIngestWork(): IngestWork {
  const redactors = createRedactors()

  function outcomeOf(input: IngestInput, value: unknown, spend: Spend): JudgedRequest['outcome'] {
    try {
      const { request, sent, timed } = read(input, value)
      checkRequest(request, sizeOf(input.parts), sent)
      const redactor = redactors.get(input.applicationId, input)
      const prepared = prepare(request, input.settings, redactor, spend, timed)
      const ignored = UNKNOWN[input.mode](value)
      return { prepared: ignored.length === 0 ? prepared : { ...prepared, ignored } }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { refusal: dataOfError(error) }
    }
  }

  return {
    judge: {
      name: 'judge-ingest',
      run(input, spend) {
        const value = parseBounded(join(input.parts))
        return { agentKey: agentKeyOf(value), outcome: outcomeOf(input, value, spend) }
      },
    },
    fingerprints: {
      name: 'ingest-fingerprints',
      run(input, spend) {
        const request = parseRequest(parseBounded(join(input.parts)))
        return fingerprintsOf(request, input.settings, redactors.get(input.applicationId, input), spend)
      },
    },
    bodies: {
      name: 'ingest-bodies',
      run(input, spend) {
        const { request } = read(input, parseBounded(join(input.parts)))
        return bodiesOf(request, input.settings, redactors.get(input.applicationId, input), spend)
      },
    },
  }
}

interface ReadRequest {
  readonly request: IngestRequest
  /** The events as sent. */
  readonly sent: readonly object[]
  readonly timed: readonly boolean[] | null
}

function read({ mode }: IngestInput, value: unknown): ReadRequest {
  if (mode === 'ingest') {
    const request = parseRequest(value)
    return { request, sent: request.events, timed: null }
  }
  const sent = parseAppendRequest(value)
  const timed = sent.events.map(({ occurredAt }) => occurredAt !== undefined)
  return { request: withIds(sent), sent: sent.events, timed }
}

function agentKeyOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('agentKey' in value)) return null
  return typeof value.agentKey === 'string' ? value.agentKey : null
}
