/** `bun run docs`: writes the sections of the documentation that are made from the code. */
import { resolve } from 'node:path'
import { generatedPages } from './docs/sections.ts'

const root = resolve(import.meta.dir, '..')
for (const { path, text, expected } of await generatedPages(root)) {
  if (text === expected) continue
  await Bun.write(resolve(root, path), expected)
  console.log(`wrote ${path}`)
}
