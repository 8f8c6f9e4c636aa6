/** The labelled text that the classifier learns from: clauses and whole items of the repository, and items of public sources. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Item, parseItems } from '../../src/analysis/analyze/eval/items.ts'
import { KINDS, type Kind } from '../../src/analysis/analyze/insight.ts'
import { CHANNELS, type Channel } from '../../src/kernel/channel.ts'

/** An item, and who wrote it: a file of the repository, or a public source. A part of the label that is not known is not learned. */
export interface Labelled {
  readonly source: string
  readonly item: Pick<Item, 'id' | 'channel' | 'language' | 'said' | 'kinds' | 'outcome'> & {
    readonly sentiment: Item['sentiment'] | null
  }
  /** Kinds whose label is known; the others are neither right nor wrong. */
  readonly known: readonly Kind[]
}

const FOLDER = join(import.meta.dir, '../../data/insight')

const filesOf = (folder: string, ending: string) =>
  readdirSync(join(FOLDER, folder))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => ({ name: `${folder}/${name}`, text: readFileSync(join(FOLDER, folder, name), 'utf8') }))

/** Whole items of a folder of data/insight, in the order of its files. @throws ItemError if a line is not as described */
export const ownItems = (folder: 'items' | 'endings' | 'hard'): readonly Labelled[] =>
  filesOf(folder, '.jsonl').flatMap(({ name, text }) =>
    // The folder of endings is labelled for the outcome only.
    parseItems(text).map((item) => ({ source: name, item, known: folder === 'endings' ? [] : KINDS })),
  )

/** Single clauses. @throws Error if a line is not as described */
export const ownClauses = (): readonly Labelled[] =>
  filesOf('clauses', '.tsv').flatMap(({ name, text }) =>
    text.split('\n').flatMap((line, index) => (line === '' ? [] : [clauseOf(line, name, index + 1)])),
  )

function clauseOf(line: string, source: string, number: number): Labelled {
  const [labels = '', channel = '', text = '', ...rest] = line.split('\t')
  const kinds = (labels.startsWith('none') ? [] : labels.split(',')) as readonly Kind[]
  const isValid =
    text.trim() !== '' &&
    rest.length === 0 &&
    CHANNELS.includes(channel as Channel) &&
    kinds.every((kind) => KINDS.includes(kind))
  if (!isValid) throw new Error(`${source}, line ${number} is not a labelled clause`)
  // What stands before a clause is not known. So an answer counts as one.
  const said = [
    ...(kinds.some((kind) => kind === 'wrong_answer' || kind === 'resolved_confirmation')
      ? [{ own: true, text: '…' }]
      : []),
    { own: false, text },
  ]
  const item = {
    ...{ id: `${source}:${number}`, channel: channel as Channel, language: 'en', said },
    ...{ kinds: [...kinds], outcome: null, sentiment: null },
  }
  return { source, item, known: KINDS }
}
