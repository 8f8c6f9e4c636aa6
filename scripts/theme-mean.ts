/**
 * `bun run theme-mean`: computes the mean of the vectors of all clauses in data/insight/clauses, and writes src/analysis/analyze/builtin/vectors/mean.json. Themes
 * subtract it from every vector: without it, all texts of customers look alike.
 */
import { join } from 'node:path'
import { DIMENSIONS } from '../src/analysis/analyze/builtin/vectors/format.rules.ts'
import { loadEmbed } from '../src/analysis/analyze/builtin/vectors/vectors.ts'
import { ownClauses } from './train/items.ts'

const PATH = join(import.meta.dir, '../src/analysis/analyze/builtin/vectors/mean.json')

const texts = [...new Set(ownClauses().map(({ item }) => item.said.at(-1)?.text ?? ''))].toSorted()
const embed = await loadEmbed()
const sums = new Float64Array(DIMENSIONS)
for (const text of texts) for (const [place, x] of embed(text).entries()) sums[place]! += x
const mean = Array.from(sums, (sum) => Number((sum / texts.length).toFixed(5)))
await Bun.write(PATH, `${JSON.stringify(mean)}\n`)
