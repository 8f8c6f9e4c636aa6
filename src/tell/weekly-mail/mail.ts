/** The weekly mail: what grew and what fell, with quotations and links. Plain text, and the same as simple HTML. Pure. */

import type { Mail } from '../../platform/mail/mail.ts'
import { fillHtml } from '../../platform/mail/template.ts'
import { shiftDay } from '../../platform/time-zone.rules.ts'
import type { Digest, Pair, Topic } from '../../understand/counts/digest/digest.ts'
import layout from './mail/layout.html.mustache' with { type: 'text' }
import listHtml from './mail/list.html.mustache' with { type: 'text' }
import quotationHtml from './mail/quotation.html.mustache' with { type: 'text' }
import topicHtml from './mail/topic.html.mustache' with { type: 'text' }

export interface WeeklyMail {
  readonly id: string
  readonly organizationId: string
  readonly to: string
  readonly organizationName: string
  readonly baseUrl: string
  readonly unsubscribeUrl: string
  readonly digest: Digest
}

interface Section {
  readonly title: string
  readonly topics: readonly Topic[]
}

/** A week without anything in it and in the week before has no mail. */
export function isEmpty({ totals, outcomes }: Digest): boolean {
  return [...Object.values(totals), ...Object.values(outcomes)].every(
    ({ count, before }) => count + before === 0,
  )
}

export function weeklyMail({
  id,
  organizationId,
  to,
  organizationName,
  baseUrl,
  unsubscribeUrl,
  digest,
}: WeeklyMail): Mail {
  const first = digest.days.from
  const last = shiftDay(digest.days.to, -1)
  const name = oneLine(organizationName)
  const title = `What customers of ${name} said, ${first} to ${last}`
  const summary = totalsOf(digest)
  const sections = sectionsOf(digest)
  const more = `${baseUrl}/v3/rest/insights/digest?${new URLSearchParams({ since: digest.since, until: digest.until })}`
  const footer = `You receive this because you asked for the weekly mail of ${name}.`
  return {
    id,
    owner: organizationId,
    to,
    subject: title,
    text: [
      title,
      summary.map((line) => `- ${line}`).join('\n'),
      ...sections.map((section) => sectionText(section, baseUrl)),
      `All of it: ${more}`,
      `${footer}\nEnd it: ${unsubscribeUrl}`,
    ].join('\n\n'),
    html: fillHtml(layout, {
      title,
      summary: summary.map((line) => fillHtml('<li>{{line}}</li>\n', { line })).join(''),
      sections: sections.map((section) => sectionHtml(section, baseUrl)).join(''),
      more,
      footer,
      unsubscribeUrl,
    }),
    unsubscribeUrl,
  }
}

function totalsOf({ totals, outcomes }: Digest): readonly string[] {
  const line = (what: string, { count, before }: Pair) => `${what}: ${count} (week before: ${before})`
  return [
    line('Conversations', totals.sessions),
    line('Feedback records', totals.feedback),
    line('Recordings', totals.recordings),
    line('Signals', totals.signals),
    line('Resolved', outcomes.resolved),
    line('Unresolved', outcomes.unresolved),
    line('Unclear', outcomes.unclear),
  ]
}

function sectionsOf({ kinds, productAreas }: Digest): readonly Section[] {
  const all: readonly Section[] = [
    { title: 'More often', topics: kinds.grew },
    { title: 'Less often', topics: kinds.fell },
    { title: 'More about these areas', topics: productAreas.grew },
    { title: 'Less about these areas', topics: productAreas.fell },
  ]
  const some = all.filter(({ topics }) => topics.length > 0)
  return some.length > 0 ? some : [{ title: 'No kind and no area changed by more than chance', topics: [] }]
}

const headingOf = ({ name, count, before }: Topic) =>
  `${oneLine(name.replaceAll('_', ' '))}: ${count} (week before: ${before})`

function sectionText({ title, topics }: Section, baseUrl: string): string {
  const topicText = (topic: Topic) =>
    [
      `- ${headingOf(topic)}`,
      ...topic.quotations.map(({ quote, path }) => `    "${oneLine(quote)}"\n    ${baseUrl}${path}`),
    ].join('\n')
  return [title, ...topics.map(topicText)].join('\n')
}

function sectionHtml({ title, topics }: Section, baseUrl: string): string {
  const quotation = ({ quote, path }: Topic['quotations'][number]) =>
    fillHtml(quotationHtml, { quote: oneLine(quote), url: `${baseUrl}${path}` })
  const items = topics.map((topic) =>
    fillHtml(topicHtml, { heading: headingOf(topic), quotations: topic.quotations.map(quotation).join('') }),
  )
  return fillHtml(listHtml, { title, items: items.join('') })
}

/** Words of customers and names cannot add lines to the mail. */
const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
