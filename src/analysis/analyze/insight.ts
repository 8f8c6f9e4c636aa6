/**
 * What an analyser reads and finds: the customer's words of one conversation, feedback record or recording, and the findings in them.
 * The two analysers are the built-in one (`builtin/`) and a model server. Neither logs content.
 */
import type { Channel } from '../../kernel/channel.ts'

/** Kinds of findings, in the order of the documentation. docs/insight.md defines each. */
export const KINDS = [
  'bug_report',
  'feature_request',
  'question',
  'complaint',
  'praise',
  'confusion',
  'human_requested',
  'churn_risk',
  'wrong_answer',
  'repeated_problem',
  'resolved_confirmation',
] as const
export type Kind = (typeof KINDS)[number]

/** Findings after which a matter stands open. */
export const OPEN_KINDS: ReadonlySet<Kind> = new Set([
  'bug_report',
  'complaint',
  'confusion',
  'human_requested',
  'churn_risk',
  'wrong_answer',
  'repeated_problem',
])

/** How a finding was made. `sure`: by rules. `likely`: by the trained head. `model`: by a model server. */
export const TIERS = ['sure', 'likely', 'model'] as const
export type Tier = (typeof TIERS)[number]

export const OUTCOMES = ['resolved', 'unresolved', 'unclear'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const SENTIMENTS = ['positive', 'negative', 'neutral'] as const
export type Sentiment = (typeof SENTIMENTS)[number]

/** One message, text field or utterance. */
export interface Said {
  /** True if the company or its agent said it. Such text is never a finding; it only gives context. */
  readonly own: boolean
  readonly text: string
}

/** What is analysed as one. */
export interface Subject {
  readonly channel: Channel
  /** In the order of time. Of a feedback record: its text fields. */
  readonly said: readonly Said[]
}

/** A subject has at most one finding of each kind. */
export interface Found {
  readonly kind: Kind
  readonly tier: Tier
  /** From 0 to 1. Not a probability before it is calibrated by corrections. */
  readonly confidence: number
  readonly rating: 'positive' | 'negative' | null
  /** Number of the message in `said`, from 0. */
  readonly index: number
  /** Where the quotation starts in the message, in UTF-16 code units. It is `text.slice(from, to)`. */
  readonly from: number
  readonly to: number
}

export interface Insight {
  /** Who read the subject. Absent: the analyser that was asked. */
  readonly analyzer?: Pick<Analyzer, 'name' | 'version'>
  /** ISO 639-1 code of the customer's language. Null if it cannot be told. */
  readonly language: string | null
  /** False if the analyser does not know this language. Then nothing was looked for. */
  readonly supported: boolean
  /** Null for feedback, and where the language is not supported. */
  readonly outcome: Outcome | null
  /** At the end of the customer's words. Null where it cannot be told surely enough, and where the language is not supported. */
  readonly sentiment: Sentiment | null
  /** In the order of `KINDS`. */
  readonly findings: readonly Found[]
}

export interface Analyzer {
  readonly name: string
  /** Changes with every change that can change findings. Subjects of an older version are analysed again. */
  readonly version: string
  /**
   * @param signal ends all I/O when aborted; the promise then rejects
   * @param organization organization of the subjects. Absent: the service itself
   * @returns one insight for each subject, in their order
   * @throws AnalyzerError if a model server gives no usable answer
   * @throws TextWorkError if the text process was killed or failed
   */
  analyze(
    subjects: readonly Subject[],
    signal: AbortSignal,
    organization?: string,
  ): Promise<readonly Insight[]>
}

const RATINGS: Readonly<Record<Kind, Found['rating']>> = {
  bug_report: 'negative',
  feature_request: null,
  question: null,
  complaint: 'negative',
  praise: 'positive',
  confusion: 'negative',
  human_requested: 'negative',
  churn_risk: 'negative',
  wrong_answer: 'negative',
  repeated_problem: 'negative',
  resolved_confirmation: 'positive',
}

/** The rating that a finding of this kind has. */
export function ratingOf(kind: Kind): Found['rating'] {
  return RATINGS[kind]
}
