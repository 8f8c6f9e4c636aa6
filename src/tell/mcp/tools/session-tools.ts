/** The tool that uploads a session of a coding agent. */
import { type Static, Type } from '@sinclair/typebox'
import { CodingSessionResult, UploadCodingSession } from '../../../hear/coding-sessions/model.ts'
import type { CodingSessions } from '../../../hear/coding-sessions/service.ts'
import type { SessionUploads } from '../../../hear/coding-sessions/uploads.ts'
import type { UserPrincipal } from '../../../kernel/principal.ts'
import { AppError } from '../../../platform/errors.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { approvalMember } from './approved.ts'
import { quoted } from './quoted.rules.ts'
import { type Tool, tool } from './tool.ts'

const Input = Type.Object(
  { ...UploadCodingSession.properties, ...approvalMember },
  { additionalProperties: false },
)
type Input = Static<typeof Input>

export interface SessionToolsDeps {
  readonly sessions: Pick<CodingSessions, 'upload'>
  readonly uploads: Pick<SessionUploads, 'get'>
}

export function sessionTools({ sessions, uploads }: SessionToolsDeps): readonly Tool[] {
  return [
    tool({
      name: 'upload-agent-session',
      title: 'Upload an agent session',
      description:
        'Stores a session of a coding agent in Earshot: its messages, tool calls, file edits and token usage. Takes `events` that are ' +
        'normalised, or in `jsonl` the text of a session file of Claude Code, Codex or Gemini CLI. The same session again adds only what is new. ' +
        'Known forms of keys, tokens and passwords are removed before it is stored. A call takes up to 1 MiB; larger files go by the ' +
        'command `earshot agent-session upload FILE`, and by the `uploadId` that it prints.',
      changes: true,
      idempotent: true,
      input: Input,
      output: CodingSessionResult,
      async prepare(principal, { userApproved: _, ...input }) {
        assertOneContent(input)
        const size = input.uploadId === undefined ? null : await sizeOf(uploads, principal, input.uploadId)
        return { question: questionOf(input, size), run: () => sessions.upload(principal, input) }
      },
    }),
  ]
}

/** @throws AppError 400 */
function assertOneContent({ format, events, jsonl, uploadId }: Input): void {
  const given = [events, jsonl, uploadId].filter((content) => content !== undefined)
  if (given.length !== 1)
    throw invalid([
      {
        path: 'events',
        code: 'contradiction',
        message: 'must be given, or jsonl, or uploadId, but only one of them',
      },
    ])
  if (events !== undefined && format !== 'normalized')
    throw invalid([{ path: 'format', code: 'contradiction', message: 'must be "normalized" with events' }])
}

/** Bytes of an uploaded file. @throws AppError 404; 409 unless it is ready */
async function sizeOf(
  uploads: SessionToolsDeps['uploads'],
  user: UserPrincipal,
  id: string,
): Promise<number> {
  const { upload } = await uploads.get(user, id.toLowerCase())
  if (upload.phase === 'ready') return upload.fileSize
  throw new AppError(
    'coding_session_upload_not_ready',
    `The phase of the upload is ${upload.phase}, not ready.`,
  )
}

function questionOf(input: Input, uploadedBytes: number | null): string {
  const { format, agent = format, title, repo, events, jsonl = '' } = input
  const about = [
    events === undefined
      ? `${Math.ceil((uploadedBytes ?? jsonl.length) / 1024)} kB`
      : `${events.length} events`,
    ...(title === undefined ? [] : [`title ${quoted(title)}`]),
    ...(repo === undefined ? [] : [`repository ${quoted(repo)}`]),
  ].join(', ')
  return (
    `Upload a session of ${quoted(agent)} (${about}) to Earshot? Its messages, tool calls and file edits are stored there; ` +
    'known forms of keys and passwords are removed first.'
  )
}
