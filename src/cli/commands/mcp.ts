/** The tools of coding agents for a client that starts a process, over HTTP and without the database of the service. */
import type { Command } from '../command.ts'

export const mcpCommands: readonly Command[] = [
  {
    name: 'mcp',
    args: [],
    summary: 'Serve the tools of coding agents on standard input and output (Model Context Protocol)',
    flags: {
      url: { value: 'url', summary: 'the service (default: EARSHOT_URL, else http://localhost:3000)' },
      organization: {
        value: 'id',
        summary: 'the organization of a user in several (default: EARSHOT_ORGANIZATION)',
      },
    },
    async run(input) {
      const { serveStdio } = await import('../mcp.ts')
      await serveStdio(input)
      return null
    },
  },
]
