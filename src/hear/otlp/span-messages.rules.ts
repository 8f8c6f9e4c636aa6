/** Finds the messages of a span: in the first attribute that has any, or in events. Pure. */
import { type Attributes, valuesOf } from './attributes.rules.ts'
import { answerOf, type Message, readMessages } from './messages.rules.ts'
import type { SentSpan } from './model.ts'
import { attributesOf, objectsOf } from './values.rules.ts'

/** The messages of a span. */
export interface SpanMessages {
  readonly input: readonly Message[]
  readonly output: readonly Message[]
  /** Nothing else was found. */
  readonly isFromEvents: boolean
}

/** The messages of its attributes, or else of its events. */
export function messagesOf(span: SentSpan, attributes: Attributes): SpanMessages {
  const input = messagesIn(attributes, 'input')
  const output = messagesIn(attributes, 'output')
  const events = messagesOfEvents(span)
  const isFromEvents =
    input.length === 0 && output.length === 0 && events.input.length + events.output.length > 0
  const hasAnswer = answerOf(output) !== undefined || events.output.length === 0
  return {
    input: hasWords(input) || events.input.length === 0 ? input : events.input,
    output: hasAnswer ? output : events.output,
    isFromEvents,
  }
}

const hasWords = (messages: readonly Message[]) => messages.some(({ text }) => text.trim() !== '')
const isGuessed = (messages: readonly Message[]) => messages.some(({ isGuess }) => isGuess)

/** The messages of the first attribute that has any, or else the guess at the first one of an unknown shape. */
function messagesIn(attributes: Attributes, meaning: 'input' | 'output'): readonly Message[] {
  let found: readonly Message[] = []
  for (const value of valuesOf(attributes, meaning)) {
    const messages = readMessages(value, meaning === 'input' ? 'user' : 'assistant')
    if (hasWords(messages) && !isGuessed(messages)) return messages
    if (!hasWords(found) && (hasWords(messages) || found.length === 0)) found = messages
  }
  return found
}

/** Older GenAI conventions record one event for each message, or one event with all of them. */
const EVENT_ROLES: Readonly<Record<string, Message['role']>> = {
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
}

function messagesOfEvents({ events }: SentSpan): { input: Message[]; output: Message[] } {
  const input: Message[] = []
  const output: Message[] = []
  for (const event of objectsOf(events)) {
    const { name } = event
    if (typeof name !== 'string' || !name.startsWith('gen_ai.')) continue
    const attributes = attributesOf(event.attributes)
    const role = EVENT_ROLES[name]
    const content = attributes.get('content') ?? attributes.get('message')
    if (role !== undefined) {
      const text = readMessages(content, 'user')[0]?.text ?? ''
      input.push({ role, text: role === 'tool' ? '' : text })
    } else if (name === 'gen_ai.choice') {
      addTo(output, readMessages(content, 'assistant'))
    } else {
      addTo(input, messagesIn(attributes, 'input'))
      addTo(output, messagesIn(attributes, 'output'))
    }
  }
  return { input, output }
}

/** A call with a million arguments overflows the stack, so `push(...more)` fails for a long list. */
function addTo(list: Message[], more: readonly Message[]): void {
  for (const message of more) list.push(message)
}
