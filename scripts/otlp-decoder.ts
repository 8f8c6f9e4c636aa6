/**
 * `bun scripts/otlp-decoder.ts`: writes src/hear/otlp/trace-request.generated.js, the decoder of OTLP trace requests, out of the published
 * .proto files in src/hear/otlp/proto. It decodes only: answers are two small messages, which src/hear/otlp/answer.ts writes.
 */
import { fileURLToPath } from 'node:url'
import pbjs from 'protobufjs-cli/pbjs'

const root = fileURLToPath(new URL('../src/hear/otlp/', import.meta.url))
const proto = `${root}proto/`
const FLAGS = [
  ['-t', 'static-module', '-w', 'es6', '--force-number', '--keep-case=false'],
  ['--no-create', '--no-encode', '--no-verify', '--no-convert', '--no-delimited', '--no-typeurl'],
  ['--no-comments', '--no-service', '-p', proto, '--dependency', 'protobufjs/minimal.js'],
].flat()

const code = await new Promise<string>((resolve, reject) => {
  const source = `${proto}opentelemetry/proto/collector/trace/v1/trace_service.proto`
  pbjs.main([...FLAGS, source], (error, output) => (error ? reject(error) : resolve(output ?? '')))
})
// Without indentation, because nobody reads it.
await Bun.write(
  `${root}trace-request.generated.js`,
  `// Made by scripts/otlp-decoder.ts out of the .proto files of OpenTelemetry (Apache-2.0, proto/LICENSE).\n${code.replaceAll(/^ +/gm, '')}\n`,
)
