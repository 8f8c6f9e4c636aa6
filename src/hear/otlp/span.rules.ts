/**
 * Reads one span of a request: checks it and keeps what its conversation needs. Pure.
 *
 * A span is judged alone, so the result does not depend on which spans come with it.
 */
import { toStorableText } from '../../platform/validation/json.ts'
import {
  type Attributes,
  carriedKindOf,
  type Meaning,
  numberOf,
  statedKindOf,
  stringOf,
  textOf,
  valuesOf,
  withLists,
} from './attributes.rules.ts'
import { answerOf, questionOf } from './messages.rules.ts'
import {
  type KeptSpan,
  MAX_NAME,
  MAX_TEXT,
  type SentSpan,
  type SpanFeedback,
  type SpanKind,
} from './model.ts'
import { messagesOf, type SpanMessages } from './span-messages.rules.ts'
import { attributesOf, compact, idOf, isAbsent, microseconds, objectsOf } from './values.rules.ts'

/**
 * Why nothing of a span becomes a message: `tool`, what it carries is of a tool, an embedding or the like; `no_words`, it carries input or
 * output in which no words were found; `no_content`, it carries neither.
 */
export type Ignored = 'tool' | 'no_words' | 'no_content'

/** What a span is for its conversation. */
export interface SpanReading {
  /** 16 hexadecimal digits. */
  readonly id: string
  /** Null: no conversation needs it. */
  readonly kept: KeptSpan | null
  /** Set where it has no words. It may be kept all the same, for its session, its person, or as the root of its trace. */
  readonly ignored?: Ignored
}

/** A refused span: why, for the sender. */
export interface Refused {
  readonly refused: string
}

export function readSpan(span: SentSpan, resource: Attributes): SpanReading | Refused {
  const traceId = idOf(span.traceId, 16)
  const id = idOf(span.spanId, 8)
  if (traceId === null || id === null) return { refused: 'a span has no valid trace id and span id' }
  const start = microseconds(span.startTimeUnixNano)
  const end = microseconds(span.endTimeUnixNano)
  if (start === null || end === null) return { refused: `span ${id} has no valid start and end` }
  const attributes = withLists(attributesOf(span.attributes))
  const parent = idOf(span.parentSpanId, 8)
  if (parent === null && !isAbsent(span.parentSpanId)) return { refused: `span ${id} has no valid parent` }
  const { ignored, ...content } = contentOf(span, attributes, parent === null)
  const kept: KeptSpan = compact({
    traceId,
    id,
    parent: parent ?? undefined,
    start,
    end: Math.max(start, end),
    ...whoAndWhere(attributes, resource),
    ...content,
    feedback: feedbackOf(span, end),
  })
  const wrong = whyRefused(kept)
  if (wrong !== null) return { refused: `span ${id}: ${wrong}` }
  return compact({
    id,
    kept: isNeeded(kept) ? kept : null,
    ignored: kept.feedback === undefined ? ignored : undefined,
  })
}

/** Roots are needed for knowing when their trace is complete. */
function isNeeded({ parent, kind, session, feedback, user }: KeptSpan): boolean {
  return (
    parent === undefined ||
    kind !== 'other' ||
    feedback !== undefined ||
    session !== undefined ||
    user !== undefined
  )
}

function whoAndWhere(attributes: Attributes, resource: Attributes) {
  const userId = clean(textOf(attributes, 'userId'))
  const text = (meaning: Meaning, of = attributes) => clean(textOf(of, meaning))
  const either = (meaning: 'environment' | 'release' | 'agentVersion') =>
    text(meaning) ?? text(meaning, resource)
  return {
    session: text('session'),
    user:
      userId === undefined
        ? undefined
        : compact({
            id: userId,
            name: text('userName'),
            email: text('userEmail'),
          }),
    environment: either('environment'),
    release: either('release'),
    agentVersion: either('agentVersion'),
  }
}

/**
 * The text as it can be stored, because one broken character, such as half of an emoji that was cut, is to cost no more than itself.
 * Undefined where nothing remains.
 */
function clean(text: string | undefined): string | undefined {
  const storable = text === undefined ? '' : toStorableText(text)
  return storable.trim() === '' ? undefined : storable
}

type Content = Partial<KeptSpan> & { readonly kind: SpanKind; readonly ignored?: Ignored }

function contentOf(span: SentSpan, attributes: Attributes, isRoot: boolean): Content {
  const stated = statedKindOf(attributes)
  if (stated === 'other') return { kind: 'other', ignored: carries(attributes) ? 'tool' : 'no_content' }
  const read = messagesOf(span, attributes)
  const kind = stated ?? (read.isFromEvents ? 'model' : carriedKindOf(attributes))
  if (kind === 'other') return { kind, ignored: 'no_content' }
  const question = questionOf(read.input)
  const answer = answerOf(read.output)
  // What a step within a trace carries may be anything. Its words count where nothing else has any.
  const isStep = stated === undefined && kind === 'chain' && !isRoot
  const [asked, replied] = [clean(question?.text), clean(answer?.text)]
  const isGuess = {
    question: isStep || question?.isGuess === true,
    answer: isStep || answer?.isGuess === true,
  }
  const guessed = compact({
    question: isGuess.question ? asked : undefined,
    answer: isGuess.answer ? replied : undefined,
  })
  return {
    kind,
    question: isGuess.question ? undefined : asked,
    asked: question?.asked,
    continues: question?.continues || undefined,
    answer: isGuess.answer ? undefined : replied,
    guessed: Object.keys(guessed).length > 0 ? guessed : undefined,
    ...modelOf(attributes),
    ignored: asked === undefined && replied === undefined ? whyWordless(read) : undefined,
  }
}

/** Steps between tools have no words. Messages of a role that is not known do, and are lost. */
function whyWordless({ input, output }: SpanMessages): Ignored {
  const read = [...input, ...output]
  if (read.length === 0) return 'no_content'
  return read.some(({ role, text }) => role === 'other' && text.trim() !== '') ? 'no_words' : 'tool'
}

/** Whether a span has input or output with any content. */
function carries(attributes: Attributes): boolean {
  return [...valuesOf(attributes, 'input'), ...valuesOf(attributes, 'output')].some(
    (value) =>
      !/^[\s[\]{}",:]*$|^\s*null\s*$/.test(typeof value === 'string' ? value : JSON.stringify(value)),
  )
}

function modelOf(attributes: Attributes) {
  const model = compact({
    provider: clean(textOf(attributes, 'provider')),
    name: clean(textOf(attributes, 'model')),
  })
  const { inputTokens, outputTokens } = usageOf(attributes)
  const usage = compact({ inputTokens, outputTokens })
  return {
    model: Object.keys(model).length > 0 ? model : undefined,
    usage: Object.keys(usage).length > 0 ? usage : undefined,
  }
}

function usageOf(attributes: Attributes) {
  const details = textOf(attributes, 'usage')
  const inDetails = details === undefined ? {} : numbersIn(details)
  return {
    inputTokens: numberOf(attributes, 'inputTokens') ?? inDetails.input,
    outputTokens: numberOf(attributes, 'outputTokens') ?? inDetails.output,
  }
}

function numbersIn(json: string): { readonly input?: number; readonly output?: number } {
  try {
    const value = JSON.parse(json) as Record<string, unknown> | null
    const number = (one: unknown) => (typeof one === 'number' && one >= 0 ? one : undefined)
    return {
      input: number(value?.input) ?? number(value?.prompt_tokens),
      output: number(value?.output) ?? number(value?.completion_tokens),
    }
  } catch {
    return {}
  }
}

/** Names of evaluations that stand for feedback of users; OpenTelemetry has no event for it. */
const USER_FEEDBACK = /^user[ _.-]?feedback$/i
const LABELS: Readonly<Record<string, SpanFeedback['rating']>> = {
  positive: 'positive',
  thumbs_up: 'positive',
  good: 'positive',
  negative: 'negative',
  thumbs_down: 'negative',
  bad: 'negative',
}

/** Events `gen_ai.evaluation.result` with the name `user_feedback`. A score above 0 is positive. */
function feedbackOf({ events }: SentSpan, end: number): readonly SpanFeedback[] | undefined {
  const found = objectsOf(events).flatMap((event): SpanFeedback[] => {
    if (event.name !== 'gen_ai.evaluation.result') return []
    const attributes = attributesOf(event.attributes)
    if (!USER_FEEDBACK.test(stringOf(attributes.get('gen_ai.evaluation.name')))) return []
    const label = stringOf(attributes.get('gen_ai.evaluation.score.label')).toLowerCase()
    const score = attributes.get('gen_ai.evaluation.score.value')
    const scored = typeof score === 'number' ? (score > 0 ? 'positive' : 'negative') : undefined
    const said = clean(stringOf(attributes.get('gen_ai.evaluation.explanation')))
    const rating = (Object.hasOwn(LABELS, label) ? LABELS[label] : undefined) ?? scored
    if (rating === undefined && said === undefined) return []
    return [compact({ at: microseconds(event.timeUnixNano) ?? end, rating, comment: said })]
  })
  return found.length > 0 ? found : undefined
}

function whyRefused(span: KeptSpan): string | null {
  const { session, user, environment, release, agentVersion, model } = span
  const names = { session, user: user?.id, environment, release, agentVersion }
  for (const [member, text] of Object.entries({ ...names, name: user?.name, email: user?.email, ...model }))
    if (text !== undefined && text.length > MAX_NAME) return `${member} has more than ${MAX_NAME} characters`
  const { guessed } = span
  const texts = [
    span.question,
    span.answer,
    guessed?.question,
    guessed?.answer,
    ...(span.feedback ?? []).map(({ comment }) => comment),
  ]
  if (texts.some((text) => text !== undefined && text.length > MAX_TEXT))
    return `a message has more than ${MAX_TEXT} characters`
  return null
}
