/**
 * `bun scripts/openapi-types.ts DOCUMENT TARGET` writes the TypeScript types of an OpenAPI document, using openapi-typescript.
 *
 * That package needs the API of TypeScript 5, which TypeScript 7 does not have. So it gets TypeScript 5.
 */
import { plugin } from 'bun'
import typescript from 'typescript-5'

plugin({
  name: 'typescript-5',
  setup(build) {
    build.module('typescript', () => ({
      exports: { ...typescript, default: typescript },
      loader: 'object',
    }))
  },
})

const [source = '', target = ''] = process.argv.slice(2)
const { default: generate, astToString } = await import('openapi-typescript')
await Bun.write(target, astToString(await generate(await Bun.file(source).text())))
