/** The tool that asks a question over everything that customers said. */
import { Type } from '@sinclair/typebox'
import { moment } from '../../../http/parameters.ts'
import { moment as momentSchema, text } from '../../../platform/validation/schema.ts'
import { AskedCounts, AskedPassage, answerMembers, Question } from '../../../understand/ask/model.ts'
import type { Ask } from '../../../understand/ask/service.ts'
import { pathOf } from '../../../understand/counts/timeline/page.rules.ts'
import { MAX_QUESTION } from '../../../understand/search/model.ts'
import { type Tool, tool } from './tool.ts'

export const askTool = (ask: Ask, publicBaseUrl: string | null): Tool =>
  tool({
    name: 'ask-customers',
    title: 'Ask what customers said',
    description:
      'Answers a question from conversations, feedback records and transcripts. Passages come with time and link, the best first, and counts of ' +
      'what was found by theme, area of the product and outcome. If a model server is configured, `answer` has sentences, each with the numbers of ' +
      'the passages that it quotes; otherwise `answer` is null, and `answerStatus` says why. Read the passages before you rely on the answer.',
    changes: false,
    idempotent: true,
    isSlow: true,
    input: Type.Object(
      {
        question: text(`The question, in any language: at most ${MAX_QUESTION} characters.`, {
          minLength: 1,
          maxLength: MAX_QUESTION,
        }),
        since: Type.Optional(
          momentSchema('From this time on: RFC 3339 with offset, such as 2026-01-02T00:00:00Z.'),
        ),
        until: Type.Optional(momentSchema('Before this time: RFC 3339 with offset.')),
        channel: Question.properties.channel,
        personId: Question.properties.personId,
        agentKey: Question.properties.agentKey,
      },
      { additionalProperties: false },
    ),
    output: Type.Object({
      ...answerMembers,
      passages: Type.Array(
        Type.Object({
          ...AskedPassage.properties,
          link: Type.String({ description: 'Where the REST API has more of it.' }),
        }),
      ),
      counts: AskedCounts,
    }),
    async prepare(user, { since, until, ...asked }) {
      const request = { ...asked, since: moment('since', since), until: moment('until', until) }
      ask.assertWords(request.question)
      return {
        async run(signal) {
          const { passages, ...answer } = await ask.ask(user, request, signal)
          const linked = passages.map((one) => {
            const link = pathOf({ channel: one.channel, id: one.id, sourceId: one.feedbackSourceId })
            return { ...one, link: `${publicBaseUrl ?? ''}${link}` }
          })
          return { ...answer, passages: linked }
        },
      }
    },
  })
