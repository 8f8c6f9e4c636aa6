/** `earshot mcp`: carries the messages of a coding agent to a service, with the user token of the environment. */
import { forwardMessages } from '../client/stdio-messages.ts'
import { type Input, UsageError } from './command.ts'
import { headerValue, serviceUrl } from './remote.ts'

/** Resolves when the standard input ends. @throws UsageError */
export async function serveStdio(input: Input): Promise<void> {
  const { EARSHOT_USER_TOKEN: token, EARSHOT_ORGANIZATION } = input.env
  if (token === undefined || token === '')
    throw new UsageError('no user token: set EARSHOT_USER_TOKEN, or create one with earshot token create')
  const organization = input.flag('organization') ?? EARSHOT_ORGANIZATION
  await forwardMessages({
    url: serviceUrl(input),
    headers: {
      authorization: `Bearer ${headerValue('EARSHOT_USER_TOKEN', token)}`,
      ...(organization === undefined
        ? {}
        : { 'x-service-organization-key': headerValue('EARSHOT_ORGANIZATION', organization) }),
    },
    input: process.stdin as unknown as AsyncIterable<Uint8Array>,
    write: (line) => process.stdout.write(`${line}\n`),
    // The standard output belongs to the protocol.
    say: (line) => process.stderr.write(`earshot: ${line}\n`),
  })
}
