/** `bun run figures`: measures the built-in analyser with the blind set and writes src/analyze/figures.json, by which the gate decides. */
import { join } from 'node:path'
import { createBuiltInAnalyzer } from '../src/analyze/builtin/builtin.ts'
import { blindSet } from '../src/analyze/eval/blind-set.ts'
import { measure } from '../src/analyze/eval/figures.ts'
import { createTextWorkHere } from '../src/analyze/text-work.ts'

const FILE = join(import.meta.dir, '../src/analyze/figures.json')

const items = blindSet()
const textWork = createTextWorkHere()
const [first, second] = [createBuiltInAnalyzer(textWork, 'rules'), createBuiltInAnalyzer(textWork)]
const { measured, misleading } = await measure(items, [first, second], new AbortController().signal)
const lines = Object.entries(measured).map(
  ([key, counts]) => `    ${JSON.stringify(key)}: [${counts.join(', ')}]`,
)
const keys = misleading.map((key) => JSON.stringify(key))
await Bun.write(
  FILE,
  `{
  "version": ${JSON.stringify(second.version)},
  "items": ${items.length},
  "measured": {
${lines.join(',\n')}
  },
  "misleading": [${keys.join(', ')}]
}
`,
)
console.log(`${items.length} items, ${lines.length} figures`)
