/** The tool that uploads a session of a coding agent. */
import { type Static, Type } from '@sinclair/typebox'
import { CodingSessionResult, UploadCodingSession } from '../../coding-sessions/model.ts'
import type { CodingSessions } from '../../coding-sessions/service.ts'
import { invalid } from '../../platform/validation/json.ts'
import { approvalMember } from './approved.ts'
import { quoted } from './quoted.rules.ts'
import { type Tool, tool } from './tool.ts'

const Input = Type.Object(
  { ...UploadCodingSession.properties, ...approvalMember },
  { additionalProperties: false },
)
type Input = Static<typeof Input>

export function sessionTools(sessions: Pick<CodingSessions, 'upload'>): readonly Tool[] {
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
        return { question: questionOf(input), run: () => sessions.upload(principal, input) }
      },
    }),
  ]
}

/** @throws AppError 400 */
function assertOneContent({ format, events, jsonl, uploadId }: Input): void {
  if ([events, jsonl, uploadId].filter((content) => content !== undefined).length !== 1) {
    const message = 'must be given, or jsonl, or uploadId, but only one of them'
    throw invalid([{ path: 'events', code: 'contradiction', message }])
  }
  if (events !== undefined && format !== 'normalized')
    throw invalid([{ path: 'format', code: 'contradiction', message: 'must be "normalized" with events' }])
}

function questionOf({ format, agent = format, title, repo, events, jsonl = '', uploadId }: Input): string {
  const text = uploadId === undefined ? `${Math.ceil(jsonl.length / 1024)} kB` : 'a file that was sent before'
  const size = events === undefined ? text : `${events.length} events`
  const about = [
    size,
    ...(title === undefined ? [] : [`title ${quoted(title)}`]),
    ...(repo === undefined ? [] : [`repository ${quoted(repo)}`]),
  ].join(', ')
  return (
    `Upload a session of ${quoted(agent)} (${about}) to Earshot? Its messages, tool calls and file edits are stored there; ` +
    'known forms of keys and passwords are removed first.'
  )
}
