/**
 * Every function that reads text from outside takes at most 200 ms of CPU for the largest text that reaches it, whatever is repeated in
 * it. A function that is new in a file of rules must be added here, or to those that read no text.
 */
import { beforeAll, describe, expect, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { linkUrl, returnPathOf, signInPath } from '../../src/access/sign-in/link.rules.ts'
import { authorizationQuery, describeRedirect } from '../../src/access/sign-in/oauth/metadata.rules.ts'
import { inputsOf } from '../../src/analysis/analyze/builtin/analyze.ts'
import { arcOf } from '../../src/analysis/analyze/builtin/arc.rules.ts'
import { clausesOf } from '../../src/analysis/analyze/builtin/clauses.rules.ts'
import { ENGLISH } from '../../src/analysis/analyze/builtin/cues/english.ts'
import { factsOf } from '../../src/analysis/analyze/builtin/facts.rules.ts'
import { findingsByRules } from '../../src/analysis/analyze/builtin/findings.rules.ts'
import { addGrams, addMark } from '../../src/analysis/analyze/builtin/grams.rules.ts'
import { endInput, moodInput, wholeInput } from '../../src/analysis/analyze/builtin/inputs.rules.ts'
import { hasKind } from '../../src/analysis/analyze/builtin/kinds.rules.ts'
import { languageByWords } from '../../src/analysis/analyze/builtin/language.rules.ts'
import { isTask, mask } from '../../src/analysis/analyze/builtin/mask.rules.ts'
import { piecesOf } from '../../src/analysis/analyze/builtin/pieces.rules.ts'
import { isQuestion } from '../../src/analysis/analyze/builtin/questions.rules.ts'
import { readSubject, wordsOfCustomer } from '../../src/analysis/analyze/builtin/reading.rules.ts'
import { contentOf, createRepeatDetector } from '../../src/analysis/analyze/builtin/repeats.rules.ts'
import { withoutRitual } from '../../src/analysis/analyze/builtin/ritual.rules.ts'
import { isInCapitals, withoutCapitals } from '../../src/analysis/analyze/builtin/vectors/capitals.rules.ts'
import { loadEmbed } from '../../src/analysis/analyze/builtin/vectors/vectors.ts'
import { KINDS } from '../../src/analysis/analyze/insight.ts'
import { partsOf } from '../../src/analysis/analyze/parts.rules.ts'
import { findQuotation } from '../../src/analysis/analyze/quotation.rules.ts'
import { pickSentences } from '../../src/analysis/analyze/sentences.ts'
import { splitAll, splitSentences } from '../../src/analysis/analyze/split.ts'
import { abridge, boundTokens, MAX_TEXT, quote, textOf } from '../../src/analysis/analyze/text.ts'
import { resultOf } from '../../src/analysis/findings/finding.rules.ts'
import { progressOf } from '../../src/calls/media/encode.rules.ts'
import { canonicalJson } from '../../src/calls/meetings/recorders/canonical-json.rules.ts'
import { momentOf, pauseSecondsOf, shownCode } from '../../src/calls/meetings/recorders/http.rules.ts'
import { draftOf as meetingDraft } from '../../src/calls/meetings/request.rules.ts'
import { identifyMeeting } from '../../src/calls/meetings/url.rules.ts'
import {
  cleanedUrl,
  decoded,
  decodedOnce,
  decodedUntil,
  endsLikeSentence,
  hidesAnotherUrl,
  linksIn,
  MAX_URL_LENGTH,
  withPlainHyphens,
} from '../../src/calls/meetings/url-clean.rules.ts'
import {
  isBelow,
  parameterOf,
  secretOf,
  segmentsOf,
  textParameterOf,
} from '../../src/calls/meetings/url-parts.rules.ts'
import { accepts } from '../../src/calls/metadata/rules.ts'
import { playbackFileName } from '../../src/calls/recordings/playback.rules.ts'
import { findJson, isCutJson } from '../../src/calls/transcribe/json-output.rules.ts'
import { isLogAt } from '../../src/calls/transcribe/log-lines.rules.ts'
import { decodeOutput, parseOutput } from '../../src/calls/transcribe/output.rules.ts'
import { parseTable } from '../../src/calls/transcribe/table-output.rules.ts'
import { toUtterances } from '../../src/calls/transcribe/utterances.rules.ts'
import { columnsOf } from '../../src/calls/transcripts/columns.rules.ts'
import { formatOf, toFormat } from '../../src/calls/transcripts/export.rules.ts'
import { MAX_TRANSCRIPT_CHARACTERS, MAX_UTTERANCE_CHARACTERS } from '../../src/calls/transcripts/model.ts'
import { toMonologues } from '../../src/calls/transcripts/monologue.rules.ts'
import { checkTranscript } from '../../src/calls/transcripts/rules.ts'
import { parseSearch } from '../../src/calls/transcripts/search.rules.ts'
import { corsHeaders } from '../../src/calls/uploads/http/answer.rules.ts'
import {
  dialectOf,
  isOffsetStream,
  parseBytes,
  parseChecksum,
  parseContentRange,
} from '../../src/calls/uploads/http/header.rules.ts'
import { displayNameOf, isOrigin } from '../../src/calls/uploads/rules.ts'
import { conversationOf as conversationOfSession } from '../../src/hear/agents/analysis/conversation.rules.ts'
import { prepareEvent } from '../../src/hear/agents/events/fingerprint.ts'
import { compileRedaction } from '../../src/hear/agents/events/redaction.ts'
import { redactNamesInText } from '../../src/hear/agents/events/redaction-json.ts'
import { createCleaner } from '../../src/hear/coding-sessions/clean.ts'
import { eventIdOf } from '../../src/hear/coding-sessions/event-id.rules.ts'
import { readClaudeCode } from '../../src/hear/coding-sessions/formats/claude-code.rules.ts'
import { readCodex } from '../../src/hear/coding-sessions/formats/codex.rules.ts'
import { formatOf as sessionFormatOf } from '../../src/hear/coding-sessions/formats/detect.rules.ts'
import { fileEditsOf } from '../../src/hear/coding-sessions/formats/edits.rules.ts'
import { readGeminiCli } from '../../src/hear/coding-sessions/formats/gemini-cli.rules.ts'
import { parseLine, scalarMember, timeOf } from '../../src/hear/coding-sessions/formats/json.rules.ts'
import { readNormalized } from '../../src/hear/coding-sessions/formats/normalized.rules.ts'
import { recordsOf } from '../../src/hear/coding-sessions/records.rules.ts'
import { guessMapping } from '../../src/hear/feedback/import-jobs/guess.rules.ts'
import { refusedHeader, refusedLine } from '../../src/hear/feedback/import-jobs/refused.rules.ts'
import { guardCell, isRefusedFile, unguardCell } from '../../src/hear/feedback/refused-cells.rules.ts'
import {
  dialectOf as dialectOfCsv,
  guessDelimiter,
  namedColumns,
} from '../../src/hear/feedback/row-import/dialect.rules.ts'
import { fieldName, parseColumnMap, useOfColumn } from '../../src/hear/feedback/row-import/mapping.rules.ts'
import {
  isPlainMoment,
  isWrittenDay,
  momentOf as momentOfCell,
} from '../../src/hear/feedback/row-import/moment.rules.ts'
import { createJudge } from '../../src/hear/feedback/row-import/row.rules.ts'
import { writtenMoment } from '../../src/hear/feedback/row-import/written-moment.rules.ts'
import { checkValue } from '../../src/hear/feedback/rules.ts'
import { conversationFrom } from '../../src/hear/importers/providers/messages.rules.ts'
import { columnOf, createConversationJudge } from '../../src/hear/importers/row.rules.ts'
import {
  carriedKindOf,
  numberOf,
  statedKindOf,
  textOf as textOfAttribute,
  valuesOf,
  withLists,
} from '../../src/hear/otlp/attributes.rules.ts'
import { guessedWords, wordsOf } from '../../src/hear/otlp/content.rules.ts'
import { readJson } from '../../src/hear/otlp/cut-json.rules.ts'
import { readMessages } from '../../src/hear/otlp/messages.rules.ts'
import { readSpan } from '../../src/hear/otlp/span.rules.ts'
import { attributesOf } from '../../src/hear/otlp/values.rules.ts'
import { givenFields, trimmed } from '../../src/hear/website/rules.ts'
import { isAllowedOrigin as isPageAllowed, originOf, responseActorId } from '../../src/hear/widget/rules.ts'
import { partOf } from '../../src/http/byte-range.ts'
import { clientIp } from '../../src/http/client-ip.ts'
import { integerId, moment } from '../../src/http/parameters.ts'
import { requestIdOf } from '../../src/http/request-id.ts'
import { shownPath } from '../../src/http/shown-path.ts'
import { createEraser } from '../../src/people/erasure.rules.ts'
import { decideCompany } from '../../src/people/rules.ts'
import { personSearchOf, personWords } from '../../src/people/search.rules.ts'
import { splitCommandLine } from '../../src/platform/lifecycle/command-line.ts'
import { oneLine } from '../../src/platform/lifecycle/start-error.ts'
import { fillHtml, fillText, textAsHtml } from '../../src/platform/mail/template.ts'
import { chooseCoding, codingOfBody, gzipLayers } from '../../src/platform/net/content-coding.rules.ts'
import { refusalOf } from '../../src/platform/net/openai-refusal.rules.ts'
import { createOutboundPolicy, isPublicAddress } from '../../src/platform/net/outbound-url.ts'
import { retryAfterMs, retryAfterSeconds } from '../../src/platform/net/retry-after.rules.ts'
import { contentDisposition } from '../../src/platform/storage/disposition.ts'
import { encodingOf } from '../../src/platform/text/encoding.rules.ts'
import {
  composed,
  normalFormOf,
  streamSafe,
  withoutAccents,
} from '../../src/platform/text/normal-form.rules.ts'
import { piecesOf as piecesOfText } from '../../src/platform/text/pieces.rules.ts'
import { nameWords, signsOf, wantedOf, wordsOf as wordsOfText } from '../../src/platform/text/words.rules.ts'
import { isEmail, isEmailAddress } from '../../src/platform/validation/email-address.ts'
import { exactNumber, parseExact, parseStored } from '../../src/platform/validation/exact-number.rules.ts'
import { isStorableText, parseJson } from '../../src/platform/validation/json.ts'
import { nameOf } from '../../src/platform/validation/names.ts'
import { isFullDate, isRfc3339, toUtc } from '../../src/platform/validation/rfc3339.ts'
import { joinLines, trimEndOf, trimOf } from '../../src/platform/validation/trim.ts'
import { passageOf } from '../../src/tell/assistant/passage.rules.ts'
import { toSections } from '../../src/tell/assistant/sections.rules.ts'
import { termsOf } from '../../src/tell/assistant/terms.rules.ts'
import { readPages } from '../../src/tell/content/page.rules.ts'
import { startOf as startOfStream } from '../../src/tell/event-stream/event.rules.ts'
import { isAllowedHost, isAllowedOrigin } from '../../src/tell/mcp/http/origin.rules.ts'
import { quoted } from '../../src/tell/mcp/tools/quoted.rules.ts'
import { quotedSentences } from '../../src/understand/ask/answer.rules.ts'
import { excerptOf } from '../../src/understand/counts/words.rules.ts'
import { headlineOf, plainLine, toHtml } from '../../src/understand/search/highlight.rules.ts'
import { meaningText, unpackIds } from '../../src/understand/search/meaning.rules.ts'
import { indexedText, MAX_PASSAGE } from '../../src/understand/search/passage.rules.ts'
import { marked, searchTextOf } from '../../src/understand/search/query.rules.ts'
import { distanceWithin, similarWords } from '../../src/understand/search/similar.rules.ts'
import { passageOf as passageOfTheme } from '../../src/understand/themes/items.rules.ts'
import { sentenceOf } from '../../src/understand/themes/quotation.rules.ts'
import { checkedTitle, redacted, titleOf } from '../../src/understand/themes/title.rules.ts'
import { stemsOf, stemsOfTerm, titleTermsOf } from '../../src/understand/themes/words.rules.ts'
import { cpuMs, cpuMsOf, repeated } from '../support/repeated-units.ts'

const SOURCE = resolve(import.meta.dir, '../../src')
/** The bound on a machine that reads the words of the largest text in 13 ms. */
const LEAST_BOUND_MS = 200
/** On a slower one it is as long as reading these words so many times. */
const TIMES_AS_LONG = 15
let boundMs = LEAST_BOUND_MS

beforeAll(async () => {
  const largest = 'It fails again: 3 of 10 exports are empty. '.repeat(MAX_TRANSCRIPT_CHARACTERS / 43)
  const wordsMs = await cpuMs(() => largest.toLowerCase().match(/[\p{L}\p{N}]+/gu), 0)
  boundMs = Math.max(LEAST_BOUND_MS, TIMES_AS_LONG * wordsMs)
})

/** All headers of a request together: what the HTTP server takes. */
const HEADER = 16 * 1024
const MEBIBYTE = 1024 * 1024
/** A request of agent events. */
const EVENT = 2 * MEBIBYTE
/** Bodies of other operations with small texts, such as names. */
const BODY = MEBIBYTE
const FORM = 64 * 1024
const PAGE = 64 * 1024
/** The body of a meeting join. */
const LINK_BODY = 128 * 1024

/** Part of a traced request, which has at most 8 MiB in all. */
const TRACE_TEXT = 512 * 1024
const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  startTimeUnixNano: '1790000000000000000',
  endTimeUnixNano: '1790000001000000000',
}

/** An answer of a help desk. */
const ANSWER_OF_HELP_DESK = 16 * MEBIBYTE
const helpDeskConversation = (text: string) =>
  conversationFrom({
    provider: 'zendesk',
    place: 'example.zendesk.com',
    id: '1',
    entityType: 'ticket',
    status: 'open',
    subject: text,
    tags: [text],
    messages: [
      {
        id: '1',
        at: '2026-01-01T00:00:00Z',
        text,
        isCustomer: true,
        author: { id: '1', name: text, email: text },
      },
    ],
  })
const IMPORT_COLUMNS = ['conversation', 'id', 'role', 'content']
const judgeConversation = createConversationJudge({ columns: new Map(), roles: new Map() })

interface Case {
  /** Code units. */
  readonly length: number
  /** What the text may begin with to get far. */
  readonly starts?: readonly string[]
  readonly read: (text: string) => unknown
}

const JSON_STARTS = ['', '{"a":"', '{"type":"user","message":{"content":"']
const NOW = new Date('2026-01-01T00:00:00Z')
/** Redacts nothing: patterns run on an engine of linear time, which has cases of its own. */
const PLAIN = createCleaner(compileRedaction({ redactedFields: [], redactedPatterns: [] }))

/** Of a text in ISO-8859-1, as headers have it. */
const headersOf = (name: string, text: string) =>
  new Headers({ [name]: text.replaceAll(/[^\t\x20-\x7e\xa0-\xff]/g, '~').trim() })

/** A text as the utterances of a transcript, as long as they may be. */
const spoken = (text: string) =>
  Array.from({ length: Math.ceil(text.length / MAX_UTTERANCE_CHARACTERS) }, (_, index) => ({
    startSec: index,
    endSec: index + 1,
    speaker: index % 2,
    text: `a${text.slice(index * MAX_UTTERANCE_CHARACTERS, (index + 1) * MAX_UTTERANCE_CHARACTERS - 1)}`,
  }))
const textsOf = (text: string) => spoken(text).map((utterance) => utterance.text)

/** A conversation in which only the customer speaks. */
const conversationOf = (text: string) => ({
  channel: 'conversation' as const,
  said: Array.from({ length: Math.ceil(text.length / MAX_TEXT) }, (_, index) => ({
    own: false,
    text: text.slice(index * MAX_TEXT, (index + 1) * MAX_TEXT),
  })),
})
const everyKindOf = (text: string) =>
  clausesOf(text).flatMap((clause) =>
    KINDS.filter((kind) => hasKind(kind, clause, { channel: 'conversation', isAnswered: true }, [ENGLISH])),
  )

/** Messages of a session. */
const rowsOf = (text: string) =>
  conversationOf(text).said.map(({ own, text: content }, sequence) => ({
    sessionId: '',
    externalEventId: `${sequence}`,
    sequence,
    own,
    content,
    participantExternalId: null,
    bodyHash: '',
  }))
/** A clause, or what a model server quotes. */
const MAX_QUOTATION = 1_000
/** A quotation of as many subjects as a title needs. */
const quotationsOf = (text: string) =>
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((subject) => ({ subject, text }))

const BUILT_IN = { name: 'builtin', version: '1' }
const QUOTED = {
  kind: 'praise',
  tier: 'sure',
  confidence: 1,
  rating: null,
  index: 0,
  from: 0,
  to: MAX_TEXT,
} as const
const EVERYTHING = {
  language: null,
  supported: true,
  outcome: null,
  sentiment: 'neutral',
  findings: [QUOTED],
} as const

const NO_COLUMNS = { externalId: null, email: null, timestamp: null, columns: new Map() }

const embed = await loadEmbed()
const GRAMS_OF_PIECE = { place: '', maxWords: 80, characters: true }

/** By file below `src`, then by function. */
const CASES: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  'analyze/builtin/clauses.rules.ts': { clausesOf: { length: MAX_TEXT, read: clausesOf } },
  'analyze/builtin/arc.rules.ts': {
    arcOf: { length: 800_000, read: (text) => arcOf(conversationOf(text).said) },
  },
  'analyze/builtin/grams.rules.ts': {
    addGrams: { length: MAX_TEXT, read: (text) => addGrams(new Set(), text, GRAMS_OF_PIECE) },
    addMark: { length: MAX_TEXT, read: (text) => addMark(new Set(), text) },
  },
  'analyze/builtin/inputs.rules.ts': {
    pieceInput: {
      length: MAX_TEXT,
      read: (text) => inputsOf(conversationOf(text), readSubject(conversationOf(text)), embed),
    },
    wholeInput: { length: 800_000, read: (text) => wholeInput(readSubject(conversationOf(text)), embed) },
    endInput: {
      length: 800_000,
      read: (text) => endInput(conversationOf(text), readSubject(conversationOf(text)), embed),
    },
    moodInput: {
      length: 800_000,
      read: (text) => moodInput(readSubject(conversationOf(text)), conversationOf(text).said, embed),
    },
  },
  'analyze/builtin/facts.rules.ts': {
    factsOf: {
      length: 800_000,
      read: (text) => {
        const subject = conversationOf(text)
        return factsOf(arcOf(subject.said), subject.said, readSubject(subject))
      },
    },
  },
  'analyze/builtin/ritual.rules.ts': {
    withoutRitual: { length: MAX_TEXT, starts: ['', 'thanks '], read: withoutRitual },
  },
  'analyze/builtin/vectors/tokenizer.rules.ts': {
    createTokenizer: { length: 1_000, starts: ['', 'x '], read: (text) => embed(text) },
  },
  'analyze/builtin/findings.rules.ts': {
    findingsByRules: {
      length: 20_000,
      starts: ['', 'It works now. '],
      read: (text) => findingsByRules(readSubject(conversationOf(text)), [ENGLISH]),
    },
  },
  'analyze/builtin/kinds.rules.ts': {
    hasKind: { length: MAX_TEXT, starts: ['', 'i want to '], read: (text) => everyKindOf(text) },
  },
  'analyze/builtin/language.rules.ts': { languageByWords: { length: 20_000, read: languageByWords } },
  'analyze/builtin/mask.rules.ts': {
    isTask: { length: MAX_TEXT, starts: ['', 'please '], read: isTask },
    mask: { length: MAX_TEXT, starts: ['', '```', 'at '], read: mask },
  },
  'analyze/builtin/pieces.rules.ts': {
    piecesOf: { length: 20_000, read: (text) => piecesOf(readSubject(conversationOf(text))) },
  },
  'analyze/builtin/questions.rules.ts': {
    isQuestion: {
      length: MAX_TEXT,
      read: (text) => clausesOf(text).map((clause) => isQuestion(clause, true)),
    },
  },
  'analyze/builtin/reading.rules.ts': {
    readSubject: { length: 800_000, read: (text) => readSubject(conversationOf(text)) },
    wordsOfCustomer: { length: 20_000, read: (text) => wordsOfCustomer(readSubject(conversationOf(text))) },
  },
  'analyze/builtin/repeats.rules.ts': {
    contentOf: { length: MAX_TEXT, read: contentOf },
    createRepeatDetector: {
      length: 20_000,
      read: (text) => {
        const isRepeat = createRepeatDetector()
        for (const { masked } of readSubject(conversationOf(text)).messages) isRepeat(masked)
      },
    },
  },
  'ask/answer.rules.ts': {
    quotedSentences: {
      length: 64 * 1024,
      read: (text) =>
        quotedSentences(
          Array.from({ length: 8 }, () => ({ text, quotes: [{ passage: 1, words: text.slice(0, 300) }] })),
          [text.slice(0, 600)],
        ),
    },
  },
  'platform/net/openai-refusal.rules.ts': {
    refusalOf: { length: 8 * 1024, read: (text) => refusalOf(400, text, ['temperature']) },
  },
  'analyze/builtin/vectors/capitals.rules.ts': {
    isInCapitals: { length: MAX_TEXT, read: isInCapitals },
    withoutCapitals: { length: MAX_TEXT, read: withoutCapitals },
  },
  'analyze/parts.rules.ts': { partsOf: { length: 800_000, read: (text) => partsOf(conversationOf(text)) } },
  'analyze/quotation.rules.ts': {
    findQuotation: { length: MAX_TEXT, read: (text) => findQuotation(`${text}a`, text.slice(-400)) },
  },
  'analyze/sentences.ts': {
    pickSentences: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      read: (text) => pickSentences(splitAll(textsOf(text)), { most: 300, characters: 24_000 }),
    },
  },
  'analyze/split.ts': {
    splitSentences: { length: MAX_UTTERANCE_CHARACTERS, read: splitSentences },
    splitAll: { length: MAX_TRANSCRIPT_CHARACTERS, read: (text) => splitAll(textsOf(text)) },
  },
  'analyze/text.ts': {
    textOf: { length: EVENT, read: (text) => textOf([{ text }, { parts: [text] }]) },
    boundTokens: { length: EVENT, read: boundTokens },
    quote: { length: MAX_UTTERANCE_CHARACTERS, read: quote },
    abridge: { length: 100_000, read: (text) => abridge(text, 600) },
  },
  'agents/analysis/conversation.rules.ts': {
    conversationOf: { length: 640_000, read: (text) => conversationOfSession(rowsOf(text)) },
  },
  'findings/finding.rules.ts': {
    resultOf: { length: MAX_TEXT, read: (text) => resultOf(EVERYTHING, [{ own: false, text }], BUILT_IN) },
  },
  'agents/events/fingerprint.ts': {
    prepareEvent: {
      length: EVENT,
      read: (text) =>
        prepareEvent({
          externalEventId: 'a',
          sequence: 0,
          revision: 1,
          type: 'user_message',
          final: true,
          occurredAt: '2026-01-02T03:04:05Z',
          body: { content: text },
        }),
    },
  },
  'agents/events/redaction-json.ts': {
    redactNamesInText: {
      length: EVENT,
      starts: ['', '{"password":"', '{\\"password\\":\\"'],
      read: (text) => redactNamesInText(text, (name) => name === 'password', '[redacted]'),
    },
  },
  'assistant/passage.rules.ts': {
    passageOf: { length: PAGE / 4, read: (text) => passageOf(text, 240, (sentence) => termsOf(sentence)) },
  },
  'assistant/sections.rules.ts': {
    toSections: {
      length: PAGE,
      starts: ['', '# ', '- '],
      read: (text) => toSections({ slug: 'a', title: 'A', markdown: text }),
    },
  },
  'assistant/terms.rules.ts': { termsOf: { length: 1_000, read: termsOf } },
  'content/page.rules.ts': {
    readPages: {
      length: PAGE,
      starts: ['', '---\n', '---\ntitle: '],
      read: (text) => attempt(() => readPages([{ name: 'a.md', source: text }])),
    },
  },
  'event-stream/event.rules.ts': {
    startOf: {
      length: HEADER,
      starts: ['', '1.', '1.01234567'],
      read: (text) => startOfStream({ generation: '01234567', lastSeq: 2, lostSeq: 0 }, text),
    },
  },
  'importers/providers/messages.rules.ts': {
    conversationFrom: {
      length: ANSWER_OF_HELP_DESK,
      read: (text) => helpDeskConversation(text),
    },
  },
  'importers/row.rules.ts': {
    columnOf: { length: BODY, read: (text) => columnOf(text, new Map()) },
    createConversationJudge: {
      length: EVENT,
      read: (text) =>
        judgeConversation({ columns: IMPORT_COLUMNS, values: ['c', '1', 'user', text], isText: true }),
    },
  },
  'feedback/row-import/dialect.rules.ts': {
    dialectOf: {
      length: 64 * 1024,
      starts: ['', 'sep=', 'sep=\t', 'sep= ', '"'],
      read: (text) => dialectOfCsv(text, null),
    },
    guessDelimiter: { length: 64 * 1024, read: guessDelimiter },
    namedColumns: { length: 64 * 1024, read: (text) => namedColumns(text.split(',')) },
  },
  'feedback/row-import/moment.rules.ts': {
    isPlainMoment: { length: EVENT, starts: ['', '2026-01-02 '], read: isPlainMoment },
    isWrittenDay: { length: EVENT, starts: ['', '2026年1月2日'], read: isWrittenDay },
    momentOf: { length: EVENT, starts: ['', '2026-01-02T', '45292.'], read: momentOfCell },
  },
  'feedback/row-import/written-moment.rules.ts': {
    writtenMoment: { length: EVENT, starts: ['', '2026年1月2日', '2026/1/2 ', '令和'], read: writtenMoment },
  },
  'feedback/import-jobs/guess.rules.ts': {
    guessMapping: { length: 64 * 1024, read: (text) => guessMapping([text, 'a'], [[text, text]]) },
  },
  'feedback/import-jobs/refused.rules.ts': {
    refusedHeader: { length: MEBIBYTE, read: (text) => refusedHeader([text]) },
    refusedLine: { length: MEBIBYTE, read: (text) => refusedLine({ line: 1, reason: text, cells: [text] }) },
  },
  'feedback/row-import/mapping.rules.ts': {
    parseColumnMap: {
      length: FORM,
      starts: ['', 'a=metadata:'],
      read: (text) => attempt(() => parseColumnMap(text)),
    },
    fieldName: { length: FORM, read: fieldName },
    useOfColumn: { length: FORM, read: (text) => attempt(() => useOfColumn(NO_COLUMNS, text)) },
  },
  'feedback/refused-cells.rules.ts': {
    guardCell: { length: MEBIBYTE, starts: ['', "'"], read: guardCell },
    unguardCell: { length: MEBIBYTE, starts: ['', "'"], read: unguardCell },
    isRefusedFile: { length: MEBIBYTE, read: (text) => isRefusedFile([text]) },
  },
  'feedback/row-import/row.rules.ts': {
    createJudge: {
      length: 16 * MEBIBYTE,
      read: (text) =>
        createJudge(NO_COLUMNS)({ columns: ['a', 'timestamp'], values: [text, text], isText: true }),
    },
  },
  'feedback/rules.ts': {
    checkValue: { length: 4 * MEBIBYTE, read: (text) => checkValue('string', text, 'a') },
  },
  'http/byte-range.ts': {
    partOf: {
      length: HEADER,
      starts: ['', 'bytes=', 'bytes=1-', 'bytes=\t'],
      read: (text) => partOf(headersOf('range', text), 1_000, '"a"'),
    },
  },
  'http/client-ip.ts': {
    clientIp: {
      length: HEADER,
      starts: ['', '127.0.0.1, '],
      read: (text) => {
        clientIp('127.0.0.1', headersOf('x-forwarded-for', text), () => true)
        clientIp('127.0.0.1', headersOf('forwarded', `for=${text}`), () => true)
      },
    },
  },
  'http/parameters.ts': {
    integerId: { length: HEADER, read: (text) => attempt(() => integerId(text, 'not_found')) },
    moment: { length: HEADER, read: (text) => attempt(() => moment('since', text)) },
  },
  'http/request-id.ts': {
    requestIdOf: {
      length: HEADER,
      read: (text) =>
        requestIdOf(new Request('http://a/', { headers: headersOf('x-request-id', text) }), () => 'a'),
    },
  },
  'http/shown-path.ts': { shownPath: { length: HEADER, starts: ['', '/uploads/'], read: shownPath } },
  'media/encode.rules.ts': {
    progressOf: { length: MEBIBYTE, starts: ['', 'out_time_us=1'], read: (text) => progressOf(text, 10) },
  },
  'meetings/request.rules.ts': {
    draftOf: {
      length: LINK_BODY,
      starts: ['', 'https://zoom.us/j/1234567890?pwd='],
      read: (text) =>
        attempt(() =>
          meetingDraft({ type: 'meetingUrl', joinUrl: text, displayName: text, botName: text }, new Date(0)),
        ),
    },
  },
  'meetings/url-clean.rules.ts': {
    cleanedUrl: { length: MAX_URL_LENGTH, starts: ['', 'https%3A%2F%2F', 'a.'], read: cleanedUrl },
    decoded: { length: MAX_URL_LENGTH, starts: ['', '%'], read: decoded },
    decodedOnce: { length: MAX_URL_LENGTH, starts: ['', '%'], read: decodedOnce },
    decodedUntil: {
      length: MAX_URL_LENGTH,
      starts: ['', '%'],
      read: (text) => decodedUntil(text, (plain) => plain.startsWith('/')),
    },
    endsLikeSentence: { length: MAX_URL_LENGTH, starts: ['', '**', '<'], read: endsLikeSentence },
    linksIn: { length: MAX_URL_LENGTH, starts: ['', '<https://', 'https://a '], read: linksIn },
    withPlainHyphens: { length: MAX_URL_LENGTH, read: withPlainHyphens },
    hidesAnotherUrl: {
      length: MAX_URL_LENGTH,
      starts: ['', '?', '?a='],
      read: (text) => hidesAnotherUrl(new URL(`https://zoom.us/j/1${text}`)),
    },
  },
  'meetings/url-parts.rules.ts': {
    segmentsOf: { length: MAX_URL_LENGTH, starts: ['', '/'], read: segmentsOf },
    isBelow: { length: MAX_URL_LENGTH, read: (text) => isBelow(text, 'zoom.us') },
    parameterOf: {
      length: MAX_URL_LENGTH,
      read: (text) => parameterOf(new URLSearchParams(text), 'pwd', /^[\w.]+$/),
    },
    secretOf: { length: MAX_URL_LENGTH, starts: ['', '?pwd='], read: (text) => secretOf(text, 'pwd') },
    textParameterOf: {
      length: MAX_URL_LENGTH,
      starts: ['', '?u='],
      read: (text) => textParameterOf(text, 'u'),
    },
  },
  'meetings/url.rules.ts': {
    identifyMeeting: {
      length: LINK_BODY,
      starts: [
        '',
        'https://zoom.us/j/1234567890?pwd=',
        'https://teams.microsoft.com/l/meetup-join/19%3a',
        'https://urldefense.com/v3/__https://zoom.us/',
      ],
      // The limit of a link, and longer ones, which are refused.
      read: (text) => [identifyMeeting(text), identifyMeeting(text.slice(0, MAX_URL_LENGTH))],
    },
  },
  'metadata/rules.ts': {
    accepts: {
      length: BODY,
      read: (text) => {
        for (const type of ['string', 'number', 'boolean', 'date', 'datetime'] as const)
          attempt(() => accepts(type as 'string', text))
      },
    },
  },
  'people/erasure.rules.ts': {
    createEraser: {
      length: EVENT,
      read: (text) => createEraser({ email: 'a@b.c', names: ['aaa', 'Ada, Lovelace'] }).text(text),
    },
  },
  'people/rules.ts': {
    isEmail: { length: BODY, starts: ['', 'a@'], read: isEmail },
    decideCompany: { length: BODY, read: (text) => decideCompany([], { name: text, domain: text }) },
  },
  'platform/lifecycle/command-line.ts': { splitCommandLine: { length: HEADER, read: splitCommandLine } },
  'platform/validation/email-address.ts': {
    isEmailAddress: { length: FORM, starts: ['', 'a@'], read: isEmailAddress },
  },
  'platform/mail/template.ts': {
    fillHtml: { length: FORM, read: (text) => attempt(() => fillHtml(text, { a: text.slice(0, 10) })) },
    fillText: { length: FORM, read: (text) => attempt(() => fillText(text, { a: text.slice(0, 10) })) },
    textAsHtml: { length: FORM, read: textAsHtml },
  },
  'platform/validation/exact-number.rules.ts': {
    exactNumber: { length: EVENT, starts: ['', '1', '0.'], read: exactNumber },
    parseExact: {
      length: BODY,
      starts: ['', '{"a":1', '[1e'],
      read: (text) => attempt(() => parseExact(text)),
    },
    parseStored: {
      length: BODY,
      starts: ['', '{"a":1', '[1e'],
      read: (text) => attempt(() => parseStored(text)),
    },
  },
  'platform/validation/json.ts': {
    isStorableText: { length: EVENT, read: isStorableText },
    parseJson: {
      length: BODY,
      starts: ['', '{"a":"', '['],
      read: (text) => attempt(() => parseJson(new TextEncoder().encode(text))),
    },
  },
  'platform/validation/names.ts': {
    nameOf: { length: BODY, read: (text) => attempt(() => nameOf('name', text)) },
  },
  'platform/net/content-coding.rules.ts': {
    chooseCoding: { length: HEADER, starts: ['', 'gzip;q=0', 'br,'], read: chooseCoding },
    codingOfBody: { length: HEADER, read: codingOfBody },
    gzipLayers: { length: HEADER, starts: ['', 'gzip,'], read: gzipLayers },
  },
  'platform/net/retry-after.rules.ts': {
    retryAfterMs: {
      length: HEADER,
      starts: ['', 'Wed, ', 'Sun, 22 '],
      read: (text) => retryAfterMs(text, NOW),
    },
    retryAfterSeconds: { length: HEADER, read: (text) => retryAfterSeconds(text, NOW) },
  },
  'platform/net/outbound-url.ts': {
    createOutboundPolicy: {
      length: FORM,
      starts: ['', 'https://', 'https://a/'],
      read: (text) => attempt(() => createOutboundPolicy([]).assertUrl(text, 'url')),
    },
    isPublicAddress: { length: FORM, read: (text) => attempt(() => isPublicAddress(text)) },
  },
  'platform/validation/rfc3339.ts': {
    isFullDate: { length: EVENT, read: isFullDate },
    isRfc3339: { length: EVENT, starts: ['', '2026-01-02T03:04:05.'], read: isRfc3339 },
    toUtc: { length: EVENT, starts: ['', '2026-01-02T03:04:05.'], read: toUtc },
  },
  'platform/lifecycle/start-error.ts': {
    oneLine: { length: FORM, read: (text) => oneLine(new Error(text)) },
  },
  'platform/storage/disposition.ts': {
    contentDisposition: {
      length: FORM,
      read: (text) => contentDisposition('video/mp4', playbackFileName(text, 'video/mp4')),
    },
  },
  'platform/validation/trim.ts': {
    joinLines: { length: FORM, read: joinLines },
    trimOf: { length: FORM, read: (text) => trimOf(text, '/. a') },
    trimEndOf: { length: FORM, read: (text) => trimEndOf(text, '/. a') },
  },
  'recordings/playback.rules.ts': {
    playbackFileName: { length: FORM, read: (text) => playbackFileName(text, 'video/mp4') },
  },
  'themes/items.rules.ts': { passageOf: { length: MAX_QUOTATION, read: passageOfTheme } },
  'themes/quotation.rules.ts': {
    sentenceOf: { length: MAX_QUOTATION, read: (text) => sentenceOf(text, (stem) => stem.length > 4) },
  },
  'themes/title.rules.ts': {
    checkedTitle: {
      length: MAX_QUOTATION,
      read: (text) => checkedTitle(text.slice(0, 80), quotationsOf(text)),
    },
    redacted: { length: MAX_QUOTATION, starts: ['', 'a@', '+1'], read: redacted },
    titleOf: {
      length: MAX_QUOTATION,
      read: (text) => titleOf(quotationsOf(text), { items: 10, countOf: () => 1 }),
    },
  },
  'themes/words.rules.ts': {
    stemsOf: { length: MAX_QUOTATION, read: stemsOf },
    stemsOfTerm: { length: MAX_QUOTATION, read: stemsOfTerm },
    titleTermsOf: { length: MAX_QUOTATION, read: titleTermsOf },
  },
  'transcribe/json-output.rules.ts': {
    findJson: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      starts: ['', '[{"', '{\n', 'x\n[\n'],
      read: (text) => findJson(text, text.split('\n')),
    },
    isCutJson: { length: MAX_TRANSCRIPT_CHARACTERS, starts: ['', '[', '{'], read: isCutJson },
  },
  'transcribe/log-lines.rules.ts': {
    isLogAt: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      starts: ['', '[', '{"', 'whisper_', '2026-01-02T03:04:05'],
      read: (text) => isLogAt(text.split('\n'), 0),
    },
  },
  'transcribe/output.rules.ts': {
    decodeOutput: { length: MAX_TRANSCRIPT_CHARACTERS, read: (text) => decodeOutput(Buffer.from(text)) },
    parseOutput: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      starts: [
        '',
        'WEBVTT\n\n00:00.000 --> 00:01.000\n',
        '[00:00.000 --> 00:01.000] ',
        '[{"text":"',
        '[NaN,"',
        '{\n{',
      ],
      read: parseOutput,
    },
  },
  'transcribe/table-output.rules.ts': {
    parseTable: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      starts: ['', 'start,end,text\n', 'start\tend\tspeaker\ttext\n0\t1\t'],
      read: (text) => parseTable(text.split('\n')),
    },
  },
  'transcribe/utterances.rules.ts': {
    toUtterances: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      read: (text) => {
        toUtterances([{ startSec: 0, endSec: 3_600, speaker: null, text }], 3_600)
        // They take the beginning only, which is the same whatever the text ends with.
        if (text.length === MAX_TRANSCRIPT_CHARACTERS) toUtterances(manySegments(text), null)
      },
    },
  },
  'transcripts/export.rules.ts': {
    formatOf: { length: HEADER, starts: ['', 'text/vtt;q=0.5,'], read: formatOf },
    toFormat: {
      length: 600_000,
      read: (text) => {
        for (const format of ['vtt', 'srt', 'txt'] as const) toFormat(format, spoken(text))
      },
    },
  },
  'transcripts/columns.rules.ts': {
    columnsOf: { length: MAX_TRANSCRIPT_CHARACTERS, read: (text) => columnsOf(spoken(text)) },
  },
  'transcripts/monologue.rules.ts': {
    toMonologues: { length: MAX_TRANSCRIPT_CHARACTERS, read: (text) => toMonologues(spoken(text)) },
  },
  'transcripts/rules.ts': {
    checkTranscript: {
      length: MAX_TRANSCRIPT_CHARACTERS,
      read: (text) => attempt(() => checkTranscript(spoken(text))),
    },
  },
  'transcripts/search.rules.ts': { parseSearch: { length: HEADER, read: parseSearch } },
  'uploads/http/answer.rules.ts': {
    corsHeaders: { length: HEADER, read: (text) => corsHeaders(text, null) },
  },
  'coding-sessions/event-id.rules.ts': {
    eventIdOf: { length: MEBIBYTE, read: (text) => eventIdOf('scope', text) },
  },
  'coding-sessions/formats/claude-code.rules.ts': {
    readClaudeCode: { length: MEBIBYTE, starts: JSON_STARTS, read: (text) => readClaudeCode(text, PLAIN) },
  },
  'coding-sessions/formats/codex.rules.ts': {
    readCodex: { length: MEBIBYTE, starts: JSON_STARTS, read: (text) => readCodex(text, PLAIN) },
  },
  'coding-sessions/formats/detect.rules.ts': {
    formatOf: { length: MEBIBYTE, starts: JSON_STARTS, read: sessionFormatOf },
  },
  'coding-sessions/formats/edits.rules.ts': {
    fileEditsOf: {
      length: MEBIBYTE,
      starts: ['', '*** Add File: '],
      read: (text) => fileEditsOf('apply_patch', text),
    },
  },
  'coding-sessions/formats/gemini-cli.rules.ts': {
    readGeminiCli: { length: MEBIBYTE, starts: JSON_STARTS, read: (text) => readGeminiCli(text, PLAIN) },
  },
  'coding-sessions/formats/json.rules.ts': {
    parseLine: { length: MEBIBYTE, starts: JSON_STARTS, read: parseLine },
    scalarMember: { length: MEBIBYTE, starts: JSON_STARTS, read: (text) => scalarMember(text, 'type') },
    timeOf: { length: BODY, starts: ['', '2026-01-01T00:00:00.'], read: timeOf },
  },
  'coding-sessions/formats/normalized.rules.ts': {
    readNormalized: { length: MEBIBYTE, starts: JSON_STARTS, read: (text) => readNormalized(text, PLAIN) },
  },
  'coding-sessions/records.rules.ts': {
    recordsOf: { length: MEBIBYTE, starts: ['', '[', '{'], read: recordsOf },
  },
  'counts/words.rules.ts': {
    excerptOf: { length: EVENT, read: (text) => excerptOf(text, text.slice(0, 200).split(' '), 300) },
  },
  'mcp/http/origin.rules.ts': {
    isAllowedHost: { length: HEADER, read: (text) => isAllowedHost(text, 'https://earshot.example') },
    isAllowedOrigin: {
      length: HEADER,
      starts: ['', 'https://'],
      read: (text) => isAllowedOrigin(text, 'https://earshot.example'),
    },
  },
  'mcp/tools/quoted.rules.ts': { quoted: { length: BODY, read: quoted } },
  'meetings/recorders/canonical-json.rules.ts': {
    // Larger webhooks of Attendee are refused before they are read.
    canonicalJson: {
      length: 16 * 1024,
      starts: JSON_STARTS,
      read: (text) => attempt(() => canonicalJson(text)),
    },
  },
  'meetings/recorders/http.rules.ts': {
    momentOf: { length: HEADER, starts: ['', '2026-01-01T00:00:00.'], read: momentOf },
    pauseSecondsOf: {
      length: HEADER,
      starts: ['', 'Sun, 22 '],
      read: (text) => pauseSecondsOf(text, NOW),
    },
    shownCode: { length: BODY, read: shownCode },
  },
  'platform/text/encoding.rules.ts': {
    encodingOf: { length: EVENT, read: (text) => encodingOf(Buffer.from(text)) },
  },
  'platform/text/normal-form.rules.ts': {
    composed: { length: HEADER, read: composed },
    streamSafe: { length: EVENT, read: streamSafe },
    normalFormOf: {
      length: MAX_PASSAGE,
      starts: ['', 'a', '請', '한', 'ᄒ', 'é'],
      read: (text) => normalFormOf(text, withoutAccents),
    },
    withoutAccents: { length: HEADER, read: withoutAccents },
  },
  'platform/text/pieces.rules.ts': { piecesOf: { length: MAX_PASSAGE, read: piecesOfText } },
  'platform/text/words.rules.ts': {
    nameWords: { length: MAX_PASSAGE, read: nameWords },
    signsOf: { length: HEADER, read: signsOf },
    wantedOf: { length: HEADER, read: (text) => wantedOf(text, 3) },
    wordsOf: { length: MAX_PASSAGE, starts: ['', 'a', '請', '한', 'é'], read: wordsOfText },
  },
  'people/search.rules.ts': {
    personSearchOf: { length: HEADER, read: personSearchOf },
    // Names and addresses are shorter.
    personWords: {
      length: 512,
      read: (text) => personWords({ firstName: text, lastName: text, email: text }),
    },
  },
  'search/highlight.rules.ts': {
    headlineOf: {
      length: MAX_PASSAGE,
      starts: ['', '請'],
      read: (text) => {
        const words = wordsOfText(text)
        return headlineOf(text, words, words.map((word) => `\uE000${word.text}`).join(' '))
      },
    },
    plainLine: { length: MAX_PASSAGE, read: plainLine },
    toHtml: { length: MAX_PASSAGE, starts: ['', '\uE000'], read: toHtml },
  },
  'search/meaning.rules.ts': {
    meaningText: { length: HEADER, starts: ['', '-', '"'], read: meaningText },
    unpackIds: { length: HEADER, read: (text) => unpackIds(text, 100) },
  },
  'search/passage.rules.ts': { indexedText: { length: EVENT, read: indexedText } },
  'search/query.rules.ts': {
    marked: { length: HEADER, starts: ['', "'"], read: (text) => marked(text, '01890a5d') },
    searchTextOf: { length: HEADER, starts: ['', '-', '"'], read: searchTextOf },
  },
  'search/similar.rules.ts': {
    distanceWithin: {
      length: 40,
      read: (text) => distanceWithin(2, text, text.slice(1), { comparisons: 0 }),
    },
    similarWords: { length: 40, read: (text) => [...similarWords([text], [text.slice(1)])] },
  },
  'sign-in/link.rules.ts': {
    linkUrl: { length: HEADER, read: (text) => linkUrl('https://earshot.example', text, text) },
    returnPathOf: { length: HEADER, starts: ['', '/'], read: returnPathOf },
    signInPath: { length: HEADER, read: signInPath },
  },
  'sign-in/oauth/metadata.rules.ts': {
    authorizationQuery: {
      length: HEADER,
      starts: ['', 'scope='],
      read: (text) => authorizationQuery(new URLSearchParams(text)),
    },
    describeRedirect: {
      length: HEADER,
      starts: ['', 'http://', 'app:'],
      read: (text) => attempt(() => describeRedirect(text)),
    },
  },
  'uploads/http/header.rules.ts': {
    dialectOf: {
      length: HEADER,
      read: (text) => attempt(() => dialectOf('PUT', headersOf('content-range', text))),
    },
    isOffsetStream: { length: HEADER, read: isOffsetStream },
    parseBytes: { length: HEADER, read: parseBytes },
    parseChecksum: { length: HEADER, starts: ['', 'sha256 ', 'a '], read: parseChecksum },
    parseContentRange: { length: HEADER, starts: ['', 'bytes ', 'bytes 1-2'], read: parseContentRange },
  },
  'uploads/rules.ts': {
    displayNameOf: { length: HEADER, starts: ['', 'a.'], read: displayNameOf },
    isOrigin: { length: HEADER, starts: ['', 'http://', 'a'], read: isOrigin },
  },
  'website/rules.ts': {
    givenFields: { length: FORM, read: (text) => givenFields(['a'], { a: text }) },
    trimmed: { length: FORM, read: (text) => trimmed({ a: text, [text]: text }) },
  },
  'otlp/attributes.rules.ts': {
    carriedKindOf: { length: TRACE_TEXT, read: (text) => carriedKindOf(new Map([['input.value', text]])) },
    statedKindOf: {
      length: TRACE_TEXT,
      read: (text) => statedKindOf(new Map([['gen_ai.operation.name', text]])),
    },
    withLists: {
      length: TRACE_TEXT,
      starts: ['', 'gen_ai.prompt.', 'gen_ai.prompt.0.', 'a.'],
      read: (text) => withLists(new Map([[text, text]])),
    },
    numberOf: {
      length: TRACE_TEXT,
      starts: ['', '1', '0x', ' '],
      read: (text) => numberOf(new Map([['gen_ai.usage.input_tokens', text]]), 'inputTokens'),
    },
    textOf: {
      length: TRACE_TEXT,
      read: (text) => textOfAttribute(new Map([['session.id', text]]), 'session'),
    },
    valuesOf: {
      length: TRACE_TEXT,
      read: (text) => [...valuesOf(new Map([['gen_ai.input.messages', text]]), 'input')],
    },
  },
  'otlp/content.rules.ts': {
    guessedWords: {
      length: TRACE_TEXT,
      read: (text) => guessedWords({ [text]: text, data: `data:${text}` }, 'user'),
    },
    wordsOf: {
      length: TRACE_TEXT,
      starts: ['', '[{"type":"text","text":"', '[{"type":"image","data":"data:', '{"'],
      read: (text) => [wordsOf(text), wordsOf([{ type: text, text, format: text, data: `data:${text}` }])],
    },
  },
  'otlp/cut-json.rules.ts': {
    readJson: { length: TRACE_TEXT, starts: ['', '["', '{"a":"', '{"a":', '[{', '["\\'], read: readJson },
  },
  'otlp/messages.rules.ts': {
    readMessages: {
      length: TRACE_TEXT,
      starts: ['', '[{"role":"user","content":"', '{"messages":[', '[['],
      read: (text) => readMessages(text, 'user'),
    },
  },
  'otlp/values.rules.ts': {
    attributesOf: {
      length: TRACE_TEXT,
      read: (text) => attributesOf([{ key: text, value: { stringValue: text } }]),
    },
  },
  'otlp/span.rules.ts': {
    readSpan: {
      length: TRACE_TEXT,
      read: (text) =>
        readSpan(
          { ...SPAN, name: text, attributes: [{ key: 'gen_ai.prompt', value: { stringValue: text } }] },
          new Map(),
        ),
    },
  },
  'widget/rules.ts': {
    isAllowedOrigin: { length: 16_384, read: (text) => isPageAllowed(['https://a.example'], text) },
    originOf: { length: 300, starts: ['', 'https://'], read: originOf },
    // Ids have at most 255 characters.
    responseActorId: { length: 255, read: (text) => responseActorId('a', text, text) },
  },
}

/** More than a transcript may have utterances. */
const manySegments = (text: string) =>
  Array.from({ length: 11_000 }, (_, index) => ({
    startSec: index,
    endSec: index + 1,
    speaker: String(index % 3),
    text: text.slice(index, index + 4),
  }))

/** A refusal is an answer, too. */
function attempt(read: () => unknown): void {
  try {
    read()
  } catch {
    // Only the time counts here.
  }
}

/** Exported functions of files of rules that read no text, or only what was checked before, or hand it on to one that is here. */
const NO_TEXT: Readonly<Record<string, readonly string[]>> = {
  'agents/analysis/conversation.rules.ts': ['draftsOf', 'quotedMessages'],
  'findings/reconcile.rules.ts': ['reconcile'],
  // Messages of errors, which have some hundred characters.
  'platform/net/certificate.rules.ts': ['certificateRemedy'],
  'findings/basis.rules.ts': ['basisOf', 'kindsThatSay'],
  'findings/coverage.rules.ts': ['analysisOf', 'unreadRecording', 'unreadSession'],
  // Texts go through textOf and resultOf.
  'findings/source.rules.ts': ['draftsOf', 'itemsOfFields', 'itemsOfSpeech', 'resultOfSource'],
  // Times are checked, and as many as events.
  'agents/ingest/times.rules.ts': ['timesOf'],
  'agents/reads/sessions.rules.ts': ['orderOfSessions'],
  'agents/reads/signals.rules.ts': ['isBounded', 'kindsMeant', 'orderOfSignals', 'signalResource'],
  'findings/verdict.rules.ts': ['decide', 'deltasOf'],
  'analyze/builtin/classifier.rules.ts': [
    'certaintyOfOutcome',
    'emptyLinear',
    'kindVotes',
    'likelihood',
    'outcomeOfShares',
    'sentimentOf',
    'shares',
    'votesOf',
  ],
  'analyze/builtin/inputs.rules.ts': ['pieceInput'],
  'analyze/builtin/vectors/format.rules.ts': ['packVectors', 'readVectors'],
  'analyze/builtin/weights.rules.ts': ['packClassifier', 'readClassifier'],
  'analyze/builtin/outcome.rules.ts': ['judge'],
  'analyze/eval/bound.rules.ts': ['lowerBound'],
  'analyze/eval/score.rules.ts': [
    'calibrationError',
    'outcomeFigures',
    'precisionOf',
    'recallOf',
    'score',
    'sentimentFigures',
  ],
  'analyze/gate.rules.ts': ['gateOf', 'isShown', 'passesGate', 'requiredPrecision'],
  'assets/rules.ts': ['keepsUrl'],
  // The head and the judge compare numbers; `piecesOf` and `readSubject` have cut and masked the text.
  // Pieces that were read, whose texts are bounded.
  'console/page.rules.ts': ['consolePage'],
  // Schemas of the program, and groups of at most 100 rows.
  'analyze/dialect.rules.ts': ['bodyOf', 'simplerDialect'],
  'ask/groups.rules.ts': ['groupsOf'],
  // Queries as PostgreSQL writes them, of a text of at most 200 characters.
  'search/any.rules.ts': ['candidateQueries', 'unitsOf', 'weighed'],
  'search/meaning.rules.ts': ['fused', 'nearOf', 'packIds'],
  'analyze/builtin/vectors/cells.rules.ts': ['directionFromMean', 'nearestCells'],
  'people/erasure-passes.rules.ts': ['isWaitOver', 'mayNamePerson', 'needsAnotherPass', 'pauseMs'],
  'quotas/quota.rules.ts': ['limitOf', 'roomOf'],
  // They read the story that is in the program.
  'demo-data/requests.rules.ts': [
    'callRequest',
    'colleagueRequest',
    'conversationRequests',
    'externalSessionId',
    'personRequest',
    'recordRequest',
    'utterancesOf',
  ],
  'demo-data/sound.rules.ts': ['soundOf'],
  'demo-data/story.rules.ts': ['readStory'],
  'event-stream/event.rules.ts': ['changeText', 'eventId', 'heartbeatText', 'retryText', 'startText'],
  'counts/counts.rules.ts': [
    'assertCountable',
    'coverageOf',
    'coveredChannels',
    'daysBefore',
    'daysOf',
    'daysOfDigest',
    'hasTheme',
    'levelOf',
    'momentOf',
  ],
  'counts/digest/digest.rules.ts': ['changesOf', 'pairsOf'],
  'search/weeks.rules.ts': ['enoughWeeks', 'reaches', 'weekLabels'],
  'themes/items.rules.ts': ['differenceOf', 'wantedItems'],
  'themes/linkage.rules.ts': ['connected', 'linkage'],
  'themes/members.rules.ts': ['termChanges', 'totalsAfter', 'weightOf'],
  'themes/nearness.rules.ts': [
    'createIndex',
    'likeness',
    'nearest',
    'nearness',
    'pointOfItem',
    'pointOfTheme',
  ],
  'themes/quotation.rules.ts': ['quotedTitles', 'uniqueTitle'],
  'themes/title.rules.ts': ['needsTitle'],
  'themes/trend.rules.ts': ['riseOf', 'tail', 'trendOf'],
  'themes/vector.rules.ts': [
    'addTo',
    'directionOf',
    'dot',
    'emptySum',
    'meanDirectionOf',
    'meanOf',
    'sumBytes',
    'sumOf',
    'unpacked',
    'vectorBytes',
    'vectorOf',
  ],
  'platform/time-zone.rules.ts': ['daysIn', 'isTimeZone', 'shiftDay', 'startOf'],
  'weekly-mail/schedule.rules.ts': ['nextMailAt', 'weekOf'],
  'agents/applications/rules.ts': ['changeSettings', 'checkName', 'strangers', 'usagePeriod'],
  'agents/sessions/erasure.rules.ts': [
    'aliasOf',
    'eraseBody',
    'eraseParticipant',
    'idsOf',
    'isAddressOf',
    'isPerson',
  ],
  'agents/sessions/people.rules.ts': ['claimsOf'],
  // `judge` and the locked way hand the texts on to it.
  'agents/ingest/append.rules.ts': ['idsOf', 'numberEvents', 'placesOf', 'withIds'],
  'agents/ingest/event.rules.ts': ['decide', 'idsToLoad', 'revisionKey'],
  'agents/ingest/request.rules.ts': [
    'checkRequest',
    'environmentRefusal',
    'eventError',
    'parseAppendRequest',
    'parseRequest',
    'resolveEnvironment',
  ],
  'agents/sessions/session.rules.ts': [
    'analyzeMessage',
    'isTerminal',
    'mergeParticipants',
    'nextStatus',
    'processingStatusFor',
  ],
  'agents/sessions/turn.rules.ts': ['effectsOf', 'processingStatusOf', 'statusByCount'],
  'agents/sessions/progress.rules.ts': ['advance', 'signalOf'],
  'coding-sessions/erasure.rules.ts': ['patternsOf'],
  'coding-sessions/event-id.rules.ts': ['hashOf', 'keyOf'],
  // `formatOf` reads each line.
  'coding-sessions/formats/detect.rules.ts': ['detectFormat'],
  'coding-sessions/formats/json.rules.ts': ['listOf', 'membersOf', 'skippedUsage', 'textOf', 'tokensOf'],
  // `readNormalized` hands the text on to it.
  'coding-sessions/formats/normalized.rules.ts': ['readNormalizedEvent'],
  'coding-sessions/merge.rules.ts': ['hasEvents'],
  'coding-sessions/occurrences.rules.ts': ['remember'],
  'coding-sessions/open-event.rules.ts': [
    'addBounded',
    'closed',
    'forgetOldest',
    'isCopyOf',
    'isNothing',
    'join',
    'note',
    'opened',
  ],
  'coding-sessions/secrets.rules.ts': ['withDefaults'],
  'roles.rules.ts': ['includesRole', 'isRole'],
  // Columns of a header, which is bounded.
  'feedback/import-jobs/guess.rules.ts': ['notesOf'],
  'feedback/row-import/mapping.rules.ts': ['checkHeader', 'mergeMappings', 'parseMappingFile'],
  'feedback/rules.ts': ['orderOfRecords', 'personIdOf', 'recordDraft', 'toUnderstand'],
  // Lines of ffprobe, and the first bytes of a file.
  'media/clock.rules.ts': ['createClock', 'withClock'],
  'media/deadline.rules.ts': ['deadlineMs'],
  'media/encode.rules.ts': [
    'encodeArguments',
    'inputArguments',
    'posterArguments',
    'posterSeekArguments',
    'posterSeconds',
    'soundArguments',
  ],
  'media/facts.rules.ts': ['factsOf'],
  'media/playback.rules.ts': ['playbackOf'],
  'media/rules.ts': ['demuxerArguments', 'sniff', 'sniffBehind', 'outcomeOf'],
  'media/waveform.rules.ts': ['createPeaks'],
  'meetings/plan.rules.ts': ['apply', 'asLeaving', 'discarded', 'planOf'],
  // Answers of a recorder: parsed JSON of bounded size, whose texts are stored and not searched.
  'meetings/recorders/attendee.rules.ts': ['creationOf', 'refusalOf', 'reportOf', 'utterancesOf'],
  'meetings/recorders/http.rules.ts': ['isPassing', 'refusalOfStatus'],
  'meetings/recorders/recall.rules.ts': [
    'creationOf',
    'mediaOf',
    'refusalOf',
    'reportOf',
    'transcriptOf',
    'utterancesOf',
  ],
  'counts/timeline/page.rules.ts': ['behind', 'compare', 'joinPages', 'pathOf', 'placeOf'],
  'meetings/recorders/vexa.rules.ts': [
    'creationOf',
    'isStalePlan',
    'lacksTranscription',
    'mediaOf',
    'planOf',
    'refusalOf',
    'reportOf',
    'titleOf',
    'utterancesOf',
  ],
  'meetings/request.rules.ts': ['assertSupported'],
  'meetings/status.rules.ts': [
    'after',
    'afterFailures',
    'deadlineOf',
    'furtherStatus',
    'isActive',
    'joinMoment',
    'nextQuestion',
  ],
  // Texts go through conversationFrom.
  'importers/providers/chatwoot.rules.ts': ['chatwootConversation'],
  'importers/providers/intercom.rules.ts': ['intercomConversation'],
  'importers/providers/messages.rules.ts': ['momentOfSeconds'],
  'importers/providers/watermark.rules.ts': ['advanced', 'firstMoment', 'unread', 'watermarkOf'],
  'importers/providers/zendesk.rules.ts': ['conversationOf', 'keyOf'],
  'importers/requests.rules.ts': ['bodyOf', 'requestsBySession', 'withoutLine'],
  'meetings/url-parts.rules.ts': ['queryOf', 'refusal'],
  // `identifyMeeting` hands the text on to them.
  'meetings/url-meet.rules.ts': ['googleMeet'],
  'meetings/url-teams.rules.ts': ['teamsMeeting'],
  'meetings/url-webex.rules.ts': ['webexMeeting'],
  'meetings/url-wrappers.rules.ts': ['unwrappedUrl'],
  'meetings/url-zoom.rules.ts': ['zoomMeeting'],
  'metadata/rules.ts': ['checkValues', 'mayChangeFields', 'mayRename'],
  'people/erasure.rules.ts': ['termsOf'],
  'findings/finding.rules.ts': ['versionOf'],
  'otlp/attributes.rules.ts': ['stringOf'],
  'otlp/messages.rules.ts': ['answerOf', 'questionOf'],
  // Of values that were parsed; `wordsOf` and `readMessages` hand them on.
  'otlp/content.rules.ts': ['isPart', 'isSilent'],
  // `readSpan` hands spans on.
  'otlp/span-messages.rules.ts': ['messagesOf'],
  'otlp/roles.rules.ts': ['isObject', 'roleNamed', 'roleOf'],
  'otlp/values.rules.ts': ['compact', 'idOf', 'isAbsent', 'microseconds', 'objectsOf'],
  // Spans that were read, whose texts are bounded.
  'otlp/trace.rules.ts': ['answerId', 'joined', 'questionId', 'sessionsOf'],
  'people/rules.ts': ['personDraft'],
  // Values that were parsed.
  'platform/validation/exact-number.rules.ts': [
    'isNumberText',
    'nearestMeasure',
    'packNumbers',
    'unpackNumbers',
  ],
  'recordings/rules.ts': [
    'analysisOfRecording',
    'assertOrder',
    'awaitedOf',
    'changeOf',
    'draftOf',
    'failureOf',
    'orderOfList',
    'samePerson',
  ],
  // `piecesOf`, `wordsOf` and `headlineOf` are the same without a pause.
  'platform/text/pieces.rules.ts': ['piecesInSteps'],
  'search/highlight.rules.ts': ['headlineInSteps', 'toText'],
  'search/passage.rules.ts': ['configurationOf', 'fieldPassages', 'languageSample', 'speechPassages'],
  // Queries that PostgreSQL made of at most 200 characters.
  'search/query.rules.ts': [
    'anyOf',
    'excludedText',
    'markOf',
    'parsedOf',
    'queryText',
    'textsOf',
    'unitText',
    'withSimilar',
    'wordsIn',
  ],
  'platform/text/words.rules.ts': ['textOf', 'wordsInSteps'],
  'search/similar.rules.ts': ['mayBeMistyped'],
  'sign-in/oauth/metadata.rules.ts': ['audienceOf', 'usedDocument', 'usedMetadata'],
  'transcribe/pieces.rules.ts': ['quietestMoment'],
  'transcribe/protocol.rules.ts': ['protocolOf', 'referencesOf', 'shifted'],
  'transcripts/rules.ts': ['checkSpeakers'],
  'uploads/http/answer.rules.ts': [
    'isComplete',
    'isGone',
    'offsetHeaders',
    'preflightHeaders',
    'rangeHeaders',
    'representation',
  ],
  'uploads/http/header.rules.ts': ['methodOf'],
  'uploads/rules.ts': ['isSameUpload', 'mayUpload'],
  'webhooks/delivery.rules.ts': ['bodyOf', 'isSuccess', 'verdictOf'],
  'website/rules.ts': ['isFromRobot'],
}

/** The folders are named here without the group that they are in. */
const GROUP = /^(?:access|analysis|app|calls|hear|kernel|tell|understand)\//

test('every function of the rules files is covered', async () => {
  const files = new Bun.Glob('**/{*.rules,rules}.ts').scanSync({ cwd: SOURCE })
  const missing: string[] = []
  for (const file of [...files].sort()) {
    const exported: Readonly<Record<string, unknown>> = await import(join(SOURCE, file))
    const key = file.replace(GROUP, '')
    const known = [...Object.keys(CASES[key] ?? {}), ...(NO_TEXT[key] ?? [])]
    for (const [name, value] of Object.entries(exported)) {
      const isClass = typeof value === 'function' && /^class\b/.test(String(value))
      if (typeof value === 'function' && !isClass && !known.includes(name)) missing.push(`${file} ${name}`)
    }
  }
  expect(missing).toEqual([])
})

for (const [file, functions] of Object.entries(CASES)) {
  describe(file, () => {
    for (const [name, { length, starts = [''], read }] of Object.entries(functions)) {
      test(`${name} of ${length} code units`, async () => {
        read('Hello.') // what is loaded or compiled once does not count
        const slow: string[] = []
        for (const start of starts) {
          for (const one of repeated(length, start)) {
            const ms = await cpuMsOf(read, one, boundMs)
            if (ms > boundMs) slow.push(`${one.name}: ${Math.round(ms)} ms`)
            if (slow.length > 5) break
          }
        }
        expect(slow).toEqual([])
      }, 300_000)
    }
  })
}
