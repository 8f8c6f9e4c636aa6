/**
 * `bun run theme-mean`: computes the mean of the vectors of all clauses in data/insight/clauses, and writes src/themes/mean.json. Themes
 * subtract it from every vector: without it, all texts of customers look alike.
 */
import { join } from 'node:path'
import { loadEmbed } from '../src/analyze/builtin/embed.ts'
import { DIMENSIONS } from '../src/analyze/builtin/features.rules.ts'
import { readCorpus } from './train/corpus.ts'

const BATCH = 500
const PATH = join(import.meta.dir, '../src/themes/mean.json')

const texts = [...new Set(readCorpus().map(({ text }) => text))].toSorted()
const embed = await loadEmbed()
const sums = new Float64Array(DIMENSIONS)
for (let from = 0; from < texts.length; from += BATCH) {
  const vectors = await embed(texts.slice(from, from + BATCH))
  for (const vector of vectors) for (const [place, x] of vector.entries()) sums[place]! += x
  console.error(`${Math.min(from + BATCH, texts.length)} of ${texts.length} clauses`)
}
const mean = Array.from(sums, (sum) => Number((sum / texts.length).toFixed(5)))
await Bun.write(PATH, `${JSON.stringify(mean)}\n`)
