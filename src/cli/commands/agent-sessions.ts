/** Sessions of coding agents on any Earshot service, over HTTP and without its database. */
import type { Command } from '../command.ts'
import { REMOTE_FLAGS } from './upload.ts'

export const agentSessionCommands: readonly Command[] = [
  {
    name: 'agent-session upload',
    args: [],
    rest: 'file',
    summary:
      'Upload session files of Claude Code, Codex or Gemini CLI; repeat an interrupted command to resume it',
    flags: {
      ...REMOTE_FLAGS,
      format: {
        value: 'format',
        summary: 'claude-code, codex, gemini-cli or normalized (default: found by the content)',
      },
      title: { value: 'title', summary: 'title of the session (default: that of the file)' },
      agent: { value: 'agent', summary: 'the agent (default: the format)' },
      repo: { value: 'repo', summary: 'the repository (default: that of the file)' },
      branch: { value: 'branch', summary: 'the branch (default: that of the file)' },
      commit: { value: 'commit', summary: 'the commit (default: that of the file)' },
      project: { value: 'id', summary: 'public id of a project that the session is associated with' },
      'external-id': { value: 'id', summary: "the agent's id of the session (default: that of the file)" },
      'no-wait': { summary: 'exit when the bytes have arrived, not when the session is stored' },
    },
    async run(input) {
      const { uploadAgentSessions } = await import('../agent-session.ts')
      return uploadAgentSessions(input)
    },
  },
  {
    name: 'agent-session list',
    args: [],
    summary: 'List the sessions of coding agents that the credential sees, the newest 100',
    flags: REMOTE_FLAGS,
    async run(input) {
      const { listAgentSessions } = await import('../agent-session.ts')
      return listAgentSessions(input)
    },
  },
  {
    name: 'agent-session delete',
    args: ['session'],
    summary: 'Delete a session of a coding agent with its events',
    flags: REMOTE_FLAGS,
    async run(input) {
      const { deleteAgentSession } = await import('../agent-session.ts')
      return deleteAgentSession(input)
    },
  },
]
