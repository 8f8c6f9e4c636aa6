/** The lines of a UTF-8 stream, in linear time however it is chunked. Omits an unfinished last line. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  for await (const chunk of stream) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    for (const part of rest) {
      yield parts.join('')
      parts = [part]
    }
  }
}
