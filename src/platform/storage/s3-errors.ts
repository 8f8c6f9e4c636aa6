/** What the client's errors say. Pure. */

/** Of the answer; undefined where there was none. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined
  return (error.$metadata as { readonly httpStatusCode?: number }).httpStatusCode
}

/** The server's word for what is wrong. */
export function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name
}
