/** Requests to S3 that end with a signal. */

/** For `S3Client.send`. */
export function until(signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal }
}

/** What the client throws when a signal is aborted is not the reason of the signal. @throws that, or what `work` throws */
export async function orReason<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted()
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
