/** The port that the service listens on: whether it is free, and why not. */
import { createServer } from 'node:net'
import { oneLine, StartError } from './start-error.ts'

interface Place {
  readonly host: string
  readonly port: number
}

/**
 * Asks before anything is made. A start that cannot listen in the end would leave an installation whose first link nobody has seen.
 * @throws StartError
 */
export async function assertPortIsFree(place: Place): Promise<void> {
  const server = createServer()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error) => reject(new StartError(whyNotListening(place, error))))
  server.listen({ ...place, exclusive: true }, () => server.close(() => resolve()))
  await promise
}

/** One line for the operator. */
export function whyNotListening({ host, port }: Place, error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `PORT is ${port}, but another program listens there: stop it, or choose another port`
    case 'EACCES':
      return `PORT is ${port}, but this user may not use this port: choose a port from 1024 to 65535`
    default:
      return `HOST is ${JSON.stringify(host)} and PORT is ${port}, but it is not possible to listen there: ${oneLine(error)}`
  }
}
