/**
 * `bun run train`: trains the head of the built-in analyser and writes src/analyze/builtin/head.json. `bun run train curve` measures
 * instead how good the head is with parts of the clauses: it trains on all files but one and is measured with that one.
 */
import { join } from 'node:path'
import { loadEmbed } from '../src/analyze/builtin/embed.ts'
import { readCorpus } from './train/corpus.ts'
import { examplesOf } from './train/examples.ts'
import { crossValidate, curveLine, thresholdsFor, trainHead, weightsOf } from './train/head.ts'

const WEIGHTS = join(import.meta.dir, '../src/analyze/builtin/head.json')

/**
 * Of clauses by an author whose clauses the head has not seen. Half of these clauses are made to mislead, so findings in real text are
 * right more often.
 */
const PRECISION = 0.75
const LOWEST = 0.45
/** Where the clauses do not reach the precision. In real items this score was right. */
const HIGHEST = 0.6
/** A finding by rules falls below this. */
const VETO = 0.1

const CURVE = [500, 1_000, 2_000, 4_000, 6_000]

const rows = readCorpus()
const examples = await examplesOf(rows, await loadEmbed(), (done) =>
  console.error(`${done} of ${rows.length} clauses embedded`),
)
if (process.argv[2] === 'curve') {
  for (const most of CURVE) console.log(curveLine(most, crossValidate(rows, examples, most)))
} else {
  const validated = crossValidate(rows, examples)
  const thresholds = thresholdsFor(PRECISION, LOWEST, HIGHEST, validated)
  await Bun.write(WEIGHTS, weightsOf(rows, trainHead(examples), thresholds, VETO))
  console.log(curveLine(rows.length, validated))
  console.log(`thresholds ${JSON.stringify(thresholds)}`)
}
