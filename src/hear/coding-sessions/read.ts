/** Reads lines of any format, and whole small files. Pure, apart from the compiled rules that it remembers. */
import { LRUCache } from 'lru-cache'
import type { Spend, Work } from '../../platform/concurrency/work.ts'
import { compileRedaction, type Redactor } from '../agents/events/redaction.ts'
import { type Cleaner, createCleaner } from './clean.ts'
import type { Fact, Format, Labels } from './event.rules.ts'
import { readClaudeCode } from './formats/claude-code.rules.ts'
import { readCodex } from './formats/codex.rules.ts'
import { readGeminiCli } from './formats/gemini-cli.rules.ts'
import { readNormalized } from './formats/normalized.rules.ts'
import { type KnownSession, type Merged, Merger } from './merge.rules.ts'
import type { FileRecord } from './records.rules.ts'
import type { SecretRules } from './secrets.rules.ts'
import type { Ancestry } from './threads.rules.ts'

type Reader = (line: string, clean: Cleaner) => readonly Fact[]

const READERS: Readonly<Record<Format, Reader>> = {
  normalized: readNormalized,
  'claude-code': readClaudeCode,
  codex: readCodex,
  'gemini-cli': readGeminiCli,
}

/** Units of about 10 ns for each character of a line: parsing, hashing and copying. */
const UNITS_PER_CHARACTER = 4

interface LinesInput {
  readonly format: Format
  readonly lines: readonly FileRecord[]
  readonly rules: SecretRules
}

interface FileInput extends LinesInput {
  readonly labels: Labels
  readonly externalSessionId?: string | undefined
}

export interface ReadFile {
  /** Redacted. */
  readonly labels: Labels
  readonly session: KnownSession
  readonly ancestry: Ancestry | null
  readonly merged: readonly Merged[]
  readonly skippedLines: number
}

/** Each is named after what it reads, so it means the same in every thread. */
export interface ReadWork {
  /** The facts of some lines, in their order. */
  readonly lines: Work<LinesInput, readonly Fact[]>
  /** A whole file that is already in memory. */
  readonly file: Work<FileInput, ReadFile>
  /** The labels without secrets. */
  readonly labels: Work<Pick<FileInput, 'labels' | 'rules'>, Labels>
}

/** Sets of rules that are kept compiled. Compiling one takes as long as reading half a megabyte. */
const MAX_COMPILED = 32

export function createReadWork(): ReadWork {
  const compiled = new LRUCache<string, Redactor>({ max: MAX_COMPILED })
  const cleanerOf = (rules: SecretRules, spend: Spend): Cleaner => {
    const key = JSON.stringify(rules)
    const redactor = compiled.get(key) ?? compileRedaction(rules)
    compiled.set(key, redactor)
    return createCleaner(redactor.within(spend))
  }
  const readAll = ({ format, lines, rules }: LinesInput, spend: Spend) => {
    const clean = cleanerOf(rules, spend)
    return lines.flatMap((line) => readOne(format, line, clean, spend))
  }
  return {
    lines: { name: 'coding-session-lines', run: readAll },
    file: {
      name: 'coding-session-file',
      run(input, spend) {
        const merger = new Merger(input)
        const merged: Merged[] = []
        for (const fact of readAll(input, spend)) merger.take(fact, merged)
        merger.end(merged)
        const labels = cleanLabels(input.labels, cleanerOf(input.rules, spend))
        return {
          session: merger.session,
          ancestry: merger.ancestry,
          labels,
          merged,
          skippedLines: merger.skipped,
        }
      },
    },
    labels: {
      name: 'coding-session-labels',
      run: ({ labels, rules }, spend) => cleanLabels(labels, cleanerOf(rules, spend)),
    },
  }
}

function readOne(format: Format, line: FileRecord, clean: Cleaner, spend: Spend): readonly Fact[] {
  if (line === null) return [{ fact: 'skip' }]
  if (line.trim() === '') return []
  spend(line.length * UNITS_PER_CHARACTER)
  return READERS[format](line, clean)
}

function cleanLabels({ title, repo, branch, commit }: Labels, clean: Cleaner): Labels {
  const name = (value: string | null) => clean.name(value) ?? null
  return { title: name(title), repo: name(repo), branch: name(branch), commit: name(commit) }
}

/** Estimated units of reading a text of this length with the rules. */
export function readUnits(characters: number, rules: SecretRules): number {
  return characters * (UNITS_PER_CHARACTER + rules.redactedPatterns.length)
}
