/** Reads lines of any format, and whole small files. Pure. */
import type { Spend, Work } from '../platform/concurrency/work.ts'
import { type Cleaner, createCleaner } from './clean.ts'
import type { Fact, Format, Labels } from './event.rules.ts'
import { readClaudeCode } from './formats/claude-code.rules.ts'
import { readCodex } from './formats/codex.rules.ts'
import { readGeminiCli } from './formats/gemini-cli.rules.ts'
import { readNormalized } from './formats/normalized.rules.ts'
import { type KnownSession, type Merged, Merger } from './merge.rules.ts'
import type { FileRecord } from './records.rules.ts'
import type { SecretRules } from './secrets.rules.ts'

type Reader = (line: string, clean: Cleaner) => readonly Fact[]

const READERS: Readonly<Record<Format, Reader>> = {
  normalized: readNormalized,
  'claude-code': readClaudeCode,
  codex: readCodex,
  'gemini-cli': readGeminiCli,
}

/** Units of about 10 ns for each character of a line: parsing, hashing and copying. */
const UNITS_PER_CHARACTER = 4

export interface LinesInput {
  readonly format: Format
  readonly lines: readonly FileRecord[]
  readonly rules: SecretRules
}

/** The facts of some lines, in their order. It keeps no state, so any thread may do it. */
export const readLinesWork: Work<LinesInput, readonly Fact[]> = {
  name: 'coding-session-lines',
  run({ format, lines, rules }, spend) {
    const clean = createCleaner(rules, spend)
    return lines.flatMap((line) => readOne(format, line, clean, spend))
  },
}

function readOne(format: Format, line: FileRecord, clean: Cleaner, spend: Spend): readonly Fact[] {
  if (line === null) return [{ fact: 'skip' }]
  if (line.trim() === '') return []
  spend(line.length * UNITS_PER_CHARACTER)
  return READERS[format](line, clean)
}

export interface FileInput extends LinesInput {
  readonly labels: Labels
  readonly externalSessionId?: string | undefined
}

export interface ReadFile {
  /** Redacted. */
  readonly labels: Labels
  readonly session: KnownSession
  readonly merged: readonly Merged[]
  readonly skippedLines: number
}

/** A whole file that is already in memory. */
export const readFileWork: Work<FileInput, ReadFile> = {
  name: 'coding-session-file',
  run(input, spend) {
    const merger = new Merger(input)
    const merged: Merged[] = []
    for (const fact of readLinesWork.run(input, spend)) merger.take(fact, merged)
    merger.end(merged)
    const labels = cleanLabels(input.labels, createCleaner(input.rules, spend))
    return { session: merger.session, labels, merged, skippedLines: merger.skipped }
  },
}

/** The labels without secrets. */
function cleanLabels({ title, repo, branch, commit }: Labels, clean: Cleaner): Labels {
  const name = (value: string | null) => clean.name(value) ?? null
  return { title: name(title), repo: name(repo), branch: name(branch), commit: name(commit) }
}

export const cleanLabelsWork: Work<Pick<FileInput, 'labels' | 'rules'>, Labels> = {
  name: 'coding-session-labels',
  run: ({ labels, rules }, spend) => cleanLabels(labels, createCleaner(rules, spend)),
}

/** Estimated units of reading a text of this length with the rules. */
export function readUnits(characters: number, rules: SecretRules): number {
  return characters * (UNITS_PER_CHARACTER + rules.redactedPatterns.length)
}
