/** Which tool calls edit files, by the names of the tools of each agent. Pure. */
import { listOf, membersOf } from './json.rules.ts'

const EDITING_TOOLS: ReadonlySet<string> = new Set([
  // Claude Code
  'Edit',
  'MultiEdit',
  'NotebookEdit',
  'Write',
  // Gemini CLI
  'edit',
  'replace',
  'write_file',
])

const PATCH_FILE = /^\*\*\* (?:Add|Update|Delete) File: /gm

/** The number of files that a call edits, or tries to: Codex edits several with one patch. */
export function fileEditsOf(name: string, input: unknown): number {
  if (EDITING_TOOLS.has(name)) return 1
  if (name === 'apply_patch') return Math.max(1, filesOf(textIn(input)))
  // Older versions of Codex run the patch as a command.
  const command = listOf(membersOf(input)?.command).map(String)
  return command.some((word) => /\bapply_patch\b/.test(word.slice(0, 200))) ? filesOf(command.join('\n')) : 0
}

function filesOf(patch: string): number {
  return patch.match(PATCH_FILE)?.length ?? 0
}

function textIn(input: unknown): string {
  if (typeof input === 'string') return input
  const members = membersOf(input)
  const text = members?.input ?? members?.patch
  return typeof text === 'string' ? text : ''
}
