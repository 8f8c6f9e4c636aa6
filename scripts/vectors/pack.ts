/**
 * `bun scripts/vectors/pack.ts FOLDER`: packs what `distil.py` wrote there into src/analysis/analyze/builtin/vectors/vectors.zst, which the service reads.
 */
import { join } from 'node:path'
import { packVectors } from '../../src/analysis/analyze/builtin/vectors/format.rules.ts'

const FILE = join(import.meta.dir, '../../src/analysis/analyze/builtin/vectors/vectors.zst')
const LEVEL = 19

const folder = process.argv[2]
if (folder === undefined) throw new Error('usage: bun scripts/vectors/pack.ts FOLDER')
const bytesOf = (name: string) => Bun.file(join(folder, name)).arrayBuffer()
const pieces = (await Bun.file(join(folder, 'pieces.json')).json()) as readonly (readonly [string, number])[]
const packed = packVectors({
  pieces,
  scales: new Float32Array(await bytesOf('scales.bin')),
  vectors: new Int8Array(await bytesOf('static.bin')),
})
await Bun.write(FILE, await Bun.zstdCompress(packed, { level: LEVEL }))
console.log(`${pieces.length} pieces, ${Bun.file(FILE).size} bytes`)
