/** Every command, in the order of the help. */
import type { Command } from './command.ts'
import { actorCommands } from './commands/actors.ts'
import { agentSessionCommands } from './commands/agent-sessions.ts'
import { agentCommands } from './commands/agents.ts'
import { analyzeCommands } from './commands/analyze.ts'
import { auditCommands } from './commands/audit.ts'
import { conversationCommands } from './commands/conversations.ts'
import { creditCommands } from './commands/credits.ts'
import { feedbackCommands } from './commands/feedback.ts'
import { folderCommands } from './commands/folders.ts'
import { formCommands } from './commands/forms.ts'
import { mcpCommands } from './commands/mcp.ts'
import { memberCommands } from './commands/members.ts'
import { organizationCommands } from './commands/organizations.ts'
import { recordingCommands } from './commands/recordings.ts'
import { serviceCommands } from './commands/service.ts'
import { uploadCommands } from './commands/upload.ts'
import { webhookCommands } from './commands/webhooks.ts'

export const COMMANDS: readonly Command[] = [
  ...serviceCommands,
  ...organizationCommands,
  ...memberCommands,
  ...folderCommands,
  ...recordingCommands,
  ...agentCommands,
  ...creditCommands,
  ...auditCommands,
  ...feedbackCommands,
  ...formCommands,
  ...actorCommands,
  ...uploadCommands,
  ...agentSessionCommands,
  ...conversationCommands,
  ...mcpCommands,
  ...webhookCommands,
  ...analyzeCommands,
]
