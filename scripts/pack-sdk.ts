/**
 * `bun scripts/pack-sdk.ts [FOLDER]` builds the TypeScript SDK (ESM, CommonJS and types) and packs it as npm would publish it. It prints
 * the path of the package. FOLDER, `dist` unless given, gets both.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '..')
const SOURCE = join(ROOT, 'sdk/typescript')

const target = resolve(process.argv[2] ?? join(ROOT, 'dist'))
const folder = join(target, 'sdk-typescript')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const file of ['package.json', 'README.md']) cpSync(join(SOURCE, file), join(folder, file))
cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))

const { exports, version } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8')) as {
  exports: Record<string, { readonly types: string }>
  version: string
}
/** `index` of `./dist/types/index.d.ts`. */
const entries = Object.values(exports).map(({ types }) => /types\/(.+)\.d\.ts$/.exec(types)?.[1] ?? '')
for (const [format, extension] of [
  ['esm', 'js'],
  ['cjs', 'cjs'],
] as const) {
  const { success, logs } = await Bun.build({
    entrypoints: entries.map((entry) => join(SOURCE, 'src', `${entry}.ts`)),
    root: join(SOURCE, 'src'),
    outdir: join(folder, 'dist'),
    format,
    target: 'browser',
    packages: 'external',
    splitting: format === 'esm',
    naming: { entry: `[dir]/[name].${extension}`, chunk: `chunks/[name]-[hash].${extension}` },
  })
  if (!success) throw new AggregateError(logs, 'the SDK cannot be built')
}
run('node_modules/.bin/tsc', '-p', SOURCE, '--outDir', join(folder, 'dist/types'))
run('pm', 'pack', '--quiet', '--destination', target)
const packed = join(target, `earshot-sdk-${version}.tgz`)
writeFileSync(join(target, 'sdk-typescript.txt'), packed)
console.log(packed)

function run(...command: readonly string[]): void {
  const cwd = command[0] === 'pm' ? folder : ROOT
  const { exitCode } = Bun.spawnSync([process.execPath, ...command], {
    cwd,
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed`)
}
