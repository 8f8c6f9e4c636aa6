/** JSON requests of the demo to the service, over HTTP like those of any client. */

/** Resolves with the JSON of the answer. @throws Error that names the request and the answer */
export type Call = <T = unknown>(method: string, path: string, body?: unknown) => Promise<T>

/** @param url scheme, host and port @param credential the header that authenticates */
export function createCall(
  url: string,
  credential: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Call {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...credential, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`)
    return (text === '' ? null : JSON.parse(text)) as T
  }
}

/** Runs `work` for all items, a few at a time. */
export async function each<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, item] of entries) await work(item, index)
    }),
  )
}
