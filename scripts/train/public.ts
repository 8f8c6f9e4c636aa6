/**
 * Items of public sources. The repository keeps no text of them: `data/insight/public/sources.json` says where each file comes from, with its licence and hash, and
 * `labels.tsv` has the labels by id. The text comes from a folder of the files.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  KINDS,
  type Kind,
  OUTCOMES,
  type Outcome,
  SENTIMENTS,
  type Sentiment,
} from '../../src/analysis/analyze/insight.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import type { Labelled } from './items.ts'

const FOLDER = join(import.meta.dir, '../../data/insight/public')

/** A file of a public source. */
interface SourceFile {
  readonly file: string
  /** Files of one source have the same writers and topics, so they are left out together. */
  readonly source: string
  readonly language: string
  readonly sha256: string
}

/** A line of labels.tsv. */
interface Label {
  readonly file: string
  readonly id: string
  readonly reader: string
  readonly kinds: readonly Kind[]
  readonly outcome: Outcome | null
  /** Null: the reader could not tell. */
  readonly sentiment: Sentiment | null
}

/** A line of a file: one text, or the messages of a conversation. */
interface PublicItem {
  readonly id: string
  readonly channel: string
  readonly text?: string
  readonly messages?: readonly { readonly role: string; readonly text: string }[]
}

const CHANNELS: Readonly<Record<string, Channel>> = {
  chat: 'conversation',
  agent: 'conversation',
  call: 'recording',
}

/** What sources.json says of a source. */
interface Source {
  /** False: nobody there speaks to a company. What they say teaches, but thresholds do not follow it. */
  readonly customers?: boolean
}

export function sourcesWithoutCustomers(): ReadonlySet<string> {
  const { sources } = JSON.parse(readFileSync(join(FOLDER, 'sources.json'), 'utf8')) as {
    sources: Readonly<Record<string, Source>>
  }
  return new Set(
    Object.entries(sources).flatMap(([name, { customers }]) => (customers === false ? [name] : [])),
  )
}

const publicFiles = (): readonly SourceFile[] =>
  JSON.parse(readFileSync(join(FOLDER, 'sources.json'), 'utf8')).files

/** All labels, in the order of the file. @throws Error if a line is not as described */
function publicLabels(): readonly Label[] {
  const lines = readFileSync(join(FOLDER, 'labels.tsv'), 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    line === '' || line.startsWith('#') ? [] : [labelOf(line, index + 1)],
  )
}

function labelOf(line: string, number: number): Label {
  const [file = '', id = '', reader = '', labels = '', outcome = '', sentiment = ''] = line.split('\t')
  const kinds = (labels === 'none' ? [] : labels.split(',')) as readonly Kind[]
  const isValid =
    kinds.every((kind) => KINDS.includes(kind)) &&
    (outcome === '-' || OUTCOMES.includes(outcome as Outcome)) &&
    (sentiment === '-' || SENTIMENTS.includes(sentiment as Sentiment))
  if (!isValid) throw new Error(`labels.tsv, line ${number} is no label`)
  return {
    ...{ file, id, reader, kinds },
    outcome: outcome === '-' ? null : (outcome as Outcome),
    sentiment: sentiment === '-' ? null : (sentiment as Sentiment),
  }
}

/**
 * The labelled items. Of an item with two readers only what both say is known.
 * @param folder has the files of sources.json
 * @throws Error that names a file that is missing or has other content
 */
export function publicItems(folder: string): readonly Labelled[] {
  const byFile = Map.groupBy(publicLabels(), ({ file }) => file)
  return publicFiles().flatMap(({ file, source, language, sha256 }) => {
    const path = join(folder, file)
    if (!existsSync(path))
      throw new Error(`${file} is missing in ${folder}: see data/insight/public/README.md`)
    const text = readFileSync(path, 'utf8')
    if (createHash('sha256').update(text).digest('hex') !== sha256)
      throw new Error(`${file} is not the file that was labelled: see data/insight/public/README.md`)
    const items = new Map(
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as PublicItem)
        .map((item) => [item.id, item]),
    )
    const byId = Map.groupBy(byFile.get(file) ?? [], ({ id }) => id)
    return [...byId].flatMap(([id, labels]) => {
      const item = items.get(id)
      return item === undefined ? [] : [labelledOf(item, labels, { source, language })]
    })
  })
}

function labelledOf(
  { id, channel, text, messages }: PublicItem,
  labels: readonly Label[],
  { source, language }: Pick<SourceFile, 'source' | 'language'>,
): Labelled {
  const [first] = labels as readonly [Label, ...Label[]]
  const agreed = <T>(of: (label: Label) => T): T | null =>
    labels.every((label) => of(label) === of(first)) ? of(first) : null
  const said = messages?.map(({ role, text }) => ({ own: role !== 'customer', text })) ?? [
    { own: false, text: text ?? '' },
  ]
  return {
    source,
    item: {
      id,
      channel: messages === undefined ? (CHANNELS[channel] ?? 'feedback') : 'conversation',
      language,
      said,
      kinds: [...first.kinds],
      outcome: messages === undefined ? null : agreed(({ outcome }) => outcome),
      sentiment: agreed(({ sentiment }) => sentiment),
    },
    known: KINDS.filter((kind) => agreed(({ kinds }) => kinds.includes(kind)) !== null),
  }
}
