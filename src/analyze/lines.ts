/** The lines of a stream of UTF-8, in linear time however they are cut into chunks. A last line without an end is left out. */
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
