/**
 * Why an OpenAI-compatible server refused a request. Pure.
 *
 * Servers differ: OpenAI names `error.code` and `error.param`, llama.cpp `error.type`, FastAPI `detail[].loc`; llama-cpp-python and vLLM have
 * only a message. A message may repeat what was sent, so nothing of it is kept but whether it has these words.
 */

export interface Refusal {
  /** The request has more tokens than the context of the model. */
  readonly isTooLong: boolean
  /** Which of the given words the refusal names. */
  readonly names: ReadonlySet<string>
}

/** Parts of a refusal that are read, in code units. */
const MAX_READ = 2_000
/** Beginning of a message. What follows may be what was sent. */
const MAX_MESSAGE = 300
const MAX_ENTRIES = 20

const TOO_LONG =
  /context[_ ](?:length|window|size)|maximum context|context (?:is )?(?:exceeded|overflow)|exceeds? (?:the )?(?:available )?context|`inputs` tokens|prompt is too long|too many tokens/i

/**
 * @param text body of the answer, perhaps cut
 * @param words that mean something to the caller, such as names of parameters
 */
export function refusalOf(status: number, text: string, words: readonly string[]): Refusal {
  const said = saidIn(text).join('\n')
  return {
    isTooLong: status === 413 || TOO_LONG.test(said),
    names: new Set(words.filter((word) => said.includes(word))),
  }
}

/** The code, the parameter, the type and the beginning of the message. */
function saidIn(text: string): readonly string[] {
  const body = parsed(text.slice(0, MAX_READ))
  if (body === null) return [text.slice(0, MAX_MESSAGE)]
  const error = memberOf(body, 'error') ?? body
  const entries = memberOf(error, 'detail')
  const places = Array.isArray(entries)
    ? entries.slice(0, MAX_ENTRIES).flatMap((entry) => textsOf(memberOf(entry, 'loc')))
    : textsOf(entries)
  const named = ['code', 'param', 'type', 'message'].flatMap((name) => textsOf(memberOf(error, name)))
  return [...textsOf(error), ...named, ...places].map((one) => one.slice(0, MAX_MESSAGE))
}

/** Null if it is no JSON, perhaps because it was cut. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value.slice(0, MAX_ENTRIES) : [value]).filter((one) => typeof one === 'string')
