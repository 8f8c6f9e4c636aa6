/** `bun run kernel`: compiles the arithmetic of the sentence encoder (AssemblyScript) to src/analyze/builtin/encoder/kernel.wasm. */
import { join } from 'node:path'
import { compileKernel } from './kernel/compile.ts'

compileKernel(join(import.meta.dir, '../src/analyze/builtin/encoder/kernel.wasm'))
