#!/usr/bin/env bun
/** The program `earshot`: the service and its administration. What the commands are is in `cli/`. */
import { TEXT_PROCESS } from './analyze/text-process.ts'

const words = process.argv.slice(2)
if (words[0] === TEXT_PROCESS) {
  // Not a command: a child of the service. It is started often, so it loads nothing else.
  const { serveTextWork } = await import('./analyze/text-serve.ts')
  await serveTextWork()
} else {
  const { runCommandLine } = await import('./cli/run.ts')
  // Not `process.exit`: `serve` goes on, and a command ends when it has closed what it opened.
  process.exitCode = await runCommandLine(words, process.env)
}
