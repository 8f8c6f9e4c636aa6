/** The response, with `done` called once its body has been sent, or the client has gone. */
export function afterBody(response: Response, done: () => void): Response {
  if (response.body === null) {
    done()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done: isEnd, value } = await reader.read()
        if (!isEnd) return controller.enqueue(value)
        done()
        controller.close()
      } catch (error) {
        done()
        controller.error(error)
      }
    },
    async cancel(reason) {
      done()
      await reader.cancel(reason).catch(() => {})
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
