/**
 * `bun run train FOLDER`: trains the built-in analyser and writes src/analysis/analyze/builtin/classifier.zst and data/insight/accuracy.json.
 * `bun run train --evaluate FOLDER`: only prints how right it is on each source that was left out.
 *
 * FOLDER has the files of data/insight/public/sources.json.
 *
 * 1. Each public source is left out once, and so is each of four groups of the repository's authors: what was trained on all others judges it.
 * 2. By these judgements votes become likelihoods, and the thresholds are chosen: for the figures of a source without that source.
 * 3. The classifier that is written learns from all.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadEmbed } from '../src/analysis/analyze/builtin/vectors/vectors.ts'
import { VERSION } from '../src/analysis/analyze/builtin/version.ts'
import { packClassifier } from '../src/analysis/analyze/builtin/weights.rules.ts'
import { decideUnseen, decisionsOf } from './train/calibrate.ts'
import { figuresFile } from './train/figures.ts'
import { corpusHash, examplesOf, judgeUnseen, train } from './train/folds.ts'
import { ownClauses, ownItems } from './train/items.ts'
import { publicItems } from './train/public.ts'
import { accuracyOf, linesOf } from './train/report.ts'

const ROOT = join(import.meta.dir, '..')
const LEVEL = 19

const { values, positionals } = parseArgs({
  options: { evaluate: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [folder] = positionals
if (folder === undefined) {
  console.error('usage: bun run train [--evaluate] FOLDER')
  process.exit(2)
}
const labelled = [...ownClauses(), ...ownItems('items'), ...ownItems('endings'), ...publicItems(folder)]
const examples = examplesOf(labelled, await loadEmbed())
console.error(`${examples.length} labelled texts`)
const unseen = judgeUnseen(examples, (name) => console.error(`left out: ${name}`))
const decided = decideUnseen(unseen)
const accuracy = accuracyOf(decided)
for (const line of linesOf(accuracy)) console.log(line)
if (!values.evaluate) {
  const corpus = corpusHash(labelled)
  const packed = packClassifier({ ...train(examples), ...decisionsOf(unseen) }, corpus)
  const weights = await Bun.zstdCompress(packed, { level: LEVEL })
  await Bun.write(join(ROOT, 'src/analysis/analyze/builtin/classifier.zst'), weights)
  const sha256 = new Bun.CryptoHasher('sha256').update(weights).digest('hex')
  await Bun.write(
    join(ROOT, 'data/insight/accuracy.json'),
    `${JSON.stringify({ sha256, corpus, ...accuracy }, null, 2)}\n`,
  )
  await Bun.write(join(ROOT, 'src/analysis/analyze/figures.json'), await figuresFile(decided, VERSION))
}
