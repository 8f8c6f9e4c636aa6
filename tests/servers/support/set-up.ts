/** Broken set-ups of the service for `earshot doctor`. Each is a row of the table in docs/operating.md. */

/** What undoes a set-up or ends its servers. */
export type Undo = () => unknown

export interface SetUp {
  /** As in the table. */
  readonly name: string
  /** The name of the check that fails. */
  readonly check: string
  /** What is wrong is the tool of the test: a small disk, which only root may mount. */
  readonly skip?: boolean
  /** Arguments of the command. */
  readonly args?: readonly string[]
  /** Starts what is needed. @returns the variables of the service */
  begin(undo: (work: Undo) => void): Promise<Readonly<Record<string, string>>>
}

/** One server with the answer for all requests that `isRefused`; it hands the others to `target` as they are. */
export function startGate(
  target: string,
  isRefused: (request: Request, url: URL) => boolean,
  answer: () => Response,
): { readonly url: string; stop(): void } {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url)
      const body = await request.arrayBuffer()
      if (isRefused(request, url)) return answer()
      return fetch(`${target}${url.pathname}${url.search}`, {
        method: request.method,
        // With `Host`, which the signature contains.
        headers: request.headers,
        ...(body.byteLength === 0 ? {} : { body }),
        redirect: 'manual',
      })
    },
  })
  return { url: server.url.origin, stop: () => void server.stop(true) }
}
