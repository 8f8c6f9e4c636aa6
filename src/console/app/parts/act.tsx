/** Changes: one at a time, and why one failed. */
import { useRef, useState } from 'preact/hooks'
import type { Problem } from '../api.ts'
import { problemOf } from '../load.ts'
import { sentencesOf } from '../problem-words.ts'

export interface Act {
  readonly problem: Problem | null
  readonly isBusy: boolean
  /** Runs a change. While one runs, another is not begun. @returns whether it succeeded */
  readonly act: (change: () => Promise<unknown>) => Promise<boolean>
}

/** Changes of one place, one after the other: a second click sends nothing. */
export function useAct(): Act {
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const running = useRef(false)
  const act = async (change: () => Promise<unknown>) => {
    if (running.current) return false
    running.current = true
    setBusy(true)
    try {
      await change()
      setProblem(null)
      return true
    } catch (error) {
      setProblem(problemOf(error))
      return false
    } finally {
      running.current = false
      setBusy(false)
    }
  }
  return { problem, isBusy, act }
}

/** Why a change failed, in words that tell what to do. */
export function Failure({ problem }: { readonly problem: Problem | null }) {
  if (problem === null) return null
  return (
    <div class="failure" role="alert">
      {sentencesOf(problem).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )
}
