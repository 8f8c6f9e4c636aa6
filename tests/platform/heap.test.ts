/** The limit of the heap, which the engine reads only at the start of a program. */
import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../support/heap-process.ts', import.meta.url))

async function run(environment: Readonly<Record<string, string>>) {
  const child = Bun.spawn([process.execPath, SCRIPT, 'serve', '--a b'], { env: environment, stdout: 'pipe' })
  return { pid: child.pid, printed: JSON.parse(await child.stdout.text()) }
}

test('the program starts once more as the same process, with the same words and environment', async () => {
  const { pid, printed } = await run({ OTHER: 'kept' })
  expect(printed).toEqual({
    pid,
    words: ['serve', '--a b'],
    environment: { OTHER: 'kept', BUN_JSC_forceRAMSize: '67108864' },
  })
})

test('what the operator has set counts', async () => {
  const { printed } = await run({ BUN_JSC_forceRAMSize: '100000000' })
  expect(printed.environment).toEqual({ BUN_JSC_forceRAMSize: '100000000' })
})
