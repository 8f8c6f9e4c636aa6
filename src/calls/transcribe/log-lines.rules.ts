/** Lines that a transcription program prints about its work. Pure. */

/** An object of JSON on a line. */
const JSON_LOG = /^\s*\{".*\}\s*$/

const LOG =
  /^\s*(?:\[?\d{4}[-/.]\d\d[-/.]\d\d[ T]\d\d:\d\d:\d\d|\[(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\]|(?:whisper|ggml|llama|output)_[a-z0-9_]{1,60} ?:\s)/i

/**
 * A date and a time, a level in brackets, or the name of a function of whisper.cpp comes first: `whisper_print_timings: total time = 5 ms`. Or
 * the line is JSON.
 */
const isLogLine = (line: string): boolean => LOG.test(line) || JSON_LOG.test(line)

/** Whether the line is one of a log. What only looks like one, between lines of speech, is speech. */
export function isLogAt(lines: readonly string[], index: number): boolean {
  const isEdge = (line = '') => line.trim() === '' || isLogLine(line)
  return isLogLine(lines[index] ?? '') && (isEdge(lines[index - 1]) || isEdge(lines[index + 1]))
}
