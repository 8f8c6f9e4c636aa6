#!/usr/bin/env bun
/** The program `earshot`: the service and its administration. `cli/` holds the commands. */
import { TEXT_PROCESS } from './analysis/analyze/text-process.ts'

const words = process.argv.slice(2)
if (words[0] === TEXT_PROCESS) {
  // Not a command: a child process of the service. It starts often, so it loads nothing else.
  const { serveTextWork } = await import('./analysis/analyze/text-serve.ts')
  await serveTextWork()
} else {
  const { runCommandLine } = await import('./cli/run.ts')
  // No `process.exit`: `serve` keeps running, and other commands end when everything is closed.
  process.exitCode = await runCommandLine(words, process.env)
}
