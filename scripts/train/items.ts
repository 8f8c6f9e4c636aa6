/** Labelled whole items, read as the analyser reads them: for the judge, and as more text for the head. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENGLISH } from '../../src/analyze/builtin/cues/english.ts'
import type { Embed } from '../../src/analyze/builtin/embed.ts'
import { ngramsOf } from '../../src/analyze/builtin/features.rules.ts'
import { type FoundByRule, findingsByRules } from '../../src/analyze/builtin/findings.rules.ts'
import { inputOf } from '../../src/analyze/builtin/head.rules.ts'
import { type Judgement, judge } from '../../src/analyze/builtin/outcome.rules.ts'
import { type Piece, piecesOf } from '../../src/analyze/builtin/pieces.rules.ts'
import { type Reading, readSubject } from '../../src/analyze/builtin/reading.rules.ts'
import { type Item, parseItems } from '../../src/analyze/eval/items.ts'
import { rounded } from './examples.ts'

export interface ReadItem {
  /** The file, which has one author. */
  readonly file: string
  readonly item: Item
  readonly reading: Reading
  readonly byRules: readonly FoundByRule[]
  /** By rules alone. */
  readonly judgement: Judgement
  readonly pieces: readonly ReadPiece[]
}

interface ReadPiece {
  readonly piece: Piece
  readonly embedding: Float32Array
  readonly input: Float32Array
  readonly ngrams: Uint32Array
}

const FOLDER = join(import.meta.dir, '../../data/insight/items')

/** The English items of all files, in the order of the files. @throws ItemError if a line is not as described */
export function readItems(folder = FOLDER): readonly { readonly file: string; readonly item: Item }[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((file) => parseItems(readFileSync(join(folder, file), 'utf8')).map((item) => ({ file, item })))
    .filter(({ item }) => item.language === 'en')
}

export async function prepare(
  items: ReturnType<typeof readItems>,
  embed: Embed,
): Promise<readonly ReadItem[]> {
  const prepared: ReadItem[] = []
  for (const { file, item } of items) {
    const reading = readSubject(item)
    const byRules = findingsByRules(reading, [ENGLISH])
    const pieces = piecesOf(reading, ENGLISH)
    const embeddings = await embed(pieces.map(({ text }) => text))
    prepared.push({
      file,
      item,
      reading,
      byRules,
      judgement: judge(reading, byRules),
      pieces: pieces.map((piece, index) => {
        const embedding = rounded(embeddings[index])
        return { piece, embedding, input: inputOf(embedding, piece.form), ngrams: ngramsOf(piece.text) }
      }),
    })
  }
  return prepared
}
