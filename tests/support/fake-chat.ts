/** A chat server that speaks the published protocol of `POST /v1/chat/completions`, and answers as a test says. */

/** The data of a request: members depend on the question. */
export interface ChatData {
  readonly nonce: string
  readonly question: string
  readonly passages: readonly { readonly number: number; readonly text: string }[]
  readonly messages: readonly { readonly number: number; readonly by: string; readonly text: string }[]
}

type Respond = (request: Request, data: ChatData, body: ChatBody) => Response | Promise<Response>

export interface ChatBody {
  readonly model: string
  readonly temperature?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly response_format?: {
    readonly type: string
    readonly schema?: unknown
    readonly json_schema?: { readonly name: string; readonly schema: unknown }
  }
}

const INSIGHT = { findings: [], outcome: 'unclear', sentiment: 'neutral', language: 'en' }

export function startFakeChat() {
  const responders = new Map<string, Respond>()
  let alive: (() => Response | Promise<Response>) | null = null
  const counts = new Map<string, number>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      if (request.method === 'GET') return Response.json({ object: 'list', data: [] })
      const body = (await request.json()) as ChatBody
      // The tiny question, which looks whether the server is there.
      if (body.messages.length === 1) return (alive ?? (() => completion({})))()
      const name = body.response_format?.json_schema?.name ?? ''
      counts.set(name, (counts.get(name) ?? 0) + 1)
      const data = JSON.parse(body.messages[1]!.content) as ChatData
      const respond = responders.get(name)
      return respond === undefined
        ? completion({ ...INSIGHT, nonce: data.nonce })
        : respond(request, data, body)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    completion,
    /** How to respond to questions with this name. */
    respond: (name: string, respond: Respond) => void responders.set(name, respond),
    answer: (name: string, answer: (data: ChatData) => object) =>
      void responders.set(name, (_, data) => completion(answer(data))),
    /** Questions with this name that have arrived. */
    asked: (name: string) => counts.get(name) ?? 0,
    /** How to respond to the tiny question, which looks whether the server is there. Default: with an answer. */
    respondAlive: (respond: () => Response | Promise<Response>) => {
      alive = respond
    },
    reset: () => {
      responders.clear()
      alive = null
    },
    stop: () => server.stop(true),
  }
}

const completion = (answer: object) =>
  Response.json({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: JSON.stringify(answer) } },
    ],
    usage: { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 },
  })
