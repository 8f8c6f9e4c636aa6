/** Compiles the arithmetic of the sentence encoder. */
import { join, relative } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const COMPILER = 'node_modules/assemblyscript/bin/asc.js'
const SOURCE = 'src/analyze/builtin/encoder/kernel/kernel.ts'
/** Nothing is allocated by the module, and nothing in it can fail. */
const OPTIONS = ['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--enable', 'simd']

/**
 * @param output the path of the WebAssembly file
 * @throws if the source does not compile
 */
export function compileKernel(output: string): void {
  const command = [process.execPath, COMPILER, SOURCE, '--outFile', relative(ROOT, output), ...OPTIONS]
  const { success, stderr } = Bun.spawnSync(command, { cwd: ROOT, stdin: 'ignore' })
  if (!success) throw new Error(`${SOURCE} does not compile:\n${stderr.toString()}`)
}
