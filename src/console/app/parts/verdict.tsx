/** Says whether a finding is right. A wrong one goes, or takes the kind that was meant; the effect is counted at once. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { api, contentOf, type Problem, type Schemas } from '../api.ts'
import { useSession } from '../context.ts'
import { problemOf } from '../load.ts'
import { handingOn } from '../place.ts'
import { labelOf } from '../words.ts'

type Signal = Schemas['Signal']
type Kind = NonNullable<Schemas['JudgeSignalRequest']['kind']>

interface Props {
  readonly signal: Signal
  readonly kinds: readonly Kind[]
}

type Said = 'nothing' | 'right' | 'wrong'

export function Verdict({ signal, kinds }: Props) {
  const { membership } = useSession()
  const [said, setSaid] = useState<Said>('nothing')
  const [problem, setProblem] = useState<Problem | null>(null)
  const note = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => {
    if (note.current === null) return
    note.current.focus({ preventScroll: true })
    // A wrong finding goes when the list is loaded again.
    return handingOn(note.current)
  }, [said])
  if (membership === null || membership.role === 'viewer' || signal.source !== 'qualitative_inference')
    return null
  const say = async (body: Schemas['JudgeSignalRequest']) => {
    try {
      await contentOf(
        api.PATCH('/v3/rest/signals/{signalId}', { params: { path: { signalId: signal.id } }, body }),
      )
      setSaid(body.verdict)
      setProblem(null)
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  if (said !== 'nothing')
    return (
      <p class="quiet" role="status" ref={note} tabIndex={-1}>
        {said === 'right' ? 'Noted as right.' : 'Noted as wrong.'}
      </p>
    )
  return (
    <div class="row verdict">
      <button type="button" onClick={() => void say({ verdict: 'right' })}>
        Right
      </button>
      <button type="button" onClick={() => void say({ verdict: 'wrong' })}>
        Wrong
      </button>
      <select
        aria-label={`It is not “${labelOf(signal.kind)}” but`}
        value=""
        onChange={(event) => {
          const kind = kinds.find((one) => one === event.currentTarget.value)
          if (kind !== undefined) void say({ verdict: 'wrong', kind })
        }}
      >
        <option value="">It is …</option>
        {kinds
          .filter((kind) => kind !== signal.kind)
          .map((kind) => (
            <option key={kind} value={kind}>
              {labelOf(kind)}
            </option>
          ))}
      </select>
      {problem === null ? null : <span role="alert">{problem.message}</span>}
    </div>
  )
}
