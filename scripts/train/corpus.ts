/** Reads the labelled clauses. data/insight/README.md describes the form. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS, type Kind } from '../../src/analyze/insight.ts'
import { CHANNELS, type Channel } from '../../src/insight/model.ts'

export interface Row {
  /** The file, which has one author. */
  readonly file: string
  readonly kinds: readonly Kind[]
  readonly channel: Channel
  readonly text: string
}

const FOLDER = join(import.meta.dir, '../../data/insight/clauses')

/** All rows, ordered by file. @throws if a line is not as described */
export function readCorpus(folder = FOLDER): readonly Row[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.tsv'))
    .sort()
    .flatMap((name) => parseRows(name, readFileSync(join(folder, name), 'utf8')))
}

function parseRows(file: string, content: string): readonly Row[] {
  return content.split('\n').flatMap((line, index) => {
    if (line === '') return []
    const [labels = '', channel = '', text = '', ...rest] = line.split('\t')
    const kinds = labels.startsWith('none') ? [] : labels.split(',')
    const isValid =
      text.trim() !== '' &&
      rest.length === 0 &&
      CHANNELS.includes(channel as Channel) &&
      kinds.every((kind) => KINDS.includes(kind as Kind))
    if (!isValid) throw new Error(`${file}, line ${index + 1} is not a labelled clause`)
    return [{ file, kinds: kinds as Kind[], channel: channel as Channel, text }]
  })
}
