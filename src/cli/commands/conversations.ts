/** Conversations out of files, for any Earshot service, over HTTP and without its database. */
import type { Command } from '../command.ts'
import { ROWS_FLAGS } from '../rows-file.ts'
import { REMOTE_FLAGS } from './upload.ts'

export const conversationCommands: readonly Command[] = [
  {
    name: 'conversations import',
    args: ['file'],
    summary: 'Import conversations from a CSV or JSON Lines file; known messages are not stored again',
    flags: {
      'agent-key': { value: 'key', summary: 'key of the agent application (default: EARSHOT_AGENT_KEY)' },
      secret: {
        value: 'agent secret',
        summary: 'secret of the application (default: EARSHOT_SECRET, which ps does not show)',
      },
      url: REMOTE_FLAGS.url,
      map: {
        value: 'column=meaning',
        summary:
          'the column that has conversation, id, time, role, content, person, email, name, rating or comment; - leaves it out; repeatable',
        repeated: true,
      },
      role: {
        value: 'word=user or assistant',
        summary: 'the meaning of a word in the role column; repeatable',
        repeated: true,
      },
      environment: { value: 'name', summary: 'environment of conversations that do not name one' },
      open: { summary: 'leave conversations open, because more will come (default: they are ended)' },
      ...ROWS_FLAGS,
    },
    async run(input) {
      const { importConversationFile } = await import('../conversations-import.ts')
      return importConversationFile(input)
    },
  },
]
