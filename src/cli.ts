#!/usr/bin/env bun
/** The program `earshot`: the service and its administration. What the commands are is in `cli/`. */
import { runCommandLine } from './cli/run.ts'

// Not `process.exit`: `serve` goes on, and a command ends when it has closed what it opened.
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
