/** Earshot's own pages, embedded as text in the compiled binary. Add a new file in `content` here. */
import about from '../../../content/about.md' with { type: 'text' }
import agentConversations from '../../../content/agent-conversations.md' with { type: 'text' }
import api from '../../../content/api.md' with { type: 'text' }
import feedback from '../../../content/feedback.md' with { type: 'text' }
import privacy from '../../../content/privacy.md' with { type: 'text' }
import recordings from '../../../content/recordings-and-transcripts.md' with { type: 'text' }
import selfHosting from '../../../content/self-hosting.md' with { type: 'text' }
import type { PageFile } from './page.rules.ts'

export const EMBEDDED: readonly PageFile[] = [
  { name: 'about.md', source: about },
  { name: 'agent-conversations.md', source: agentConversations },
  { name: 'api.md', source: api },
  { name: 'feedback.md', source: feedback },
  { name: 'privacy.md', source: privacy },
  { name: 'recordings-and-transcripts.md', source: recordings },
  { name: 'self-hosting.md', source: selfHosting },
]
