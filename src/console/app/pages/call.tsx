/** One call: the player with its waveform, and the transcript, which follows and seeks. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Player, type PlayerControl } from '../parts/player.tsx'
import { Time, Title } from '../parts/small.tsx'
import { clock } from '../words.ts'

type Recording = Schemas['Recording']
type Utterance = Schemas['Utterance']

const TRANSCRIPT = '/v3/rest/recordings/{recordingId}/transcript'

export function Call() {
  const { params } = useRoute()
  const recordingId = params.id ?? ''
  const recording = useLoaded(recordingId, (signal) =>
    contentOf(api.GET('/v3/rest/recordings/{recordingId}', { params: { path: { recordingId } }, signal })),
  )
  const isReady = recording.data?.transcript.status === 'completed'
  const transcript = useLoaded(isReady ? recordingId : null, (signal) =>
    contentOf(
      api.GET(TRANSCRIPT, { params: { path: { recordingId }, query: { type: 'utterance' } }, signal }),
    ),
  )
  if (recording.data === null)
    return recording.state === 'failed' ? <ErrorNote problem={recording.problem} /> : <Loading />
  const utterances =
    transcript.data !== null && typeof transcript.data === 'object' && 'utterances' in transcript.data
      ? transcript.data.utterances
      : null
  return <OneCall recording={recording.data} utterances={utterances ?? []} />
}

function OneCall({
  recording,
  utterances,
}: {
  readonly recording: Recording
  readonly utterances: readonly Utterance[]
}) {
  const start = Number(useFilters().get('t')) || 0
  const player = useRef<PlayerControl | null>(null)
  const [now, setNow] = useState(start)
  const [wanted, setWanted] = useState('')
  const { asset, transcript, participants, summary, startedAt, displayName } = recording
  const speakers = new Map(
    participants.map((one) => [
      one.speaker,
      [one.firstName, one.lastName].filter(Boolean).join(' ') || one.email,
    ]),
  )
  const seek = (second: number) => {
    setNow(second)
    player.current?.seek(second)
  }
  return (
    <article>
      <Title text={displayName ?? 'Unnamed call'}>
        {startedAt === null ? null : <Time at={startedAt} />}
      </Title>
      {summary === null ? null : <p class="summary">{summary}</p>}
      {asset?.url == null ? (
        <p class="quiet">{asset === null ? 'This call has no media.' : `The media is ${asset.status}.`}</p>
      ) : (
        <Player asset={asset} start={start} control={player} onTime={setNow} />
      )}
      <p class="row">
        {participants.map((one) =>
          one.personId === null ? null : (
            <a key={one.speaker} href={pageOf(`/people/${one.personId}`)}>
              {speakers.get(one.speaker) ?? `Speaker ${one.speaker + 1}`}
            </a>
          ),
        )}
        <button type="button" class="link" onClick={() => void copyClip(recording.id, now)}>
          Copy a link to {clock(now)}
        </button>
      </p>
      {transcript.status === 'completed' ? (
        <>
          <label class="filter">
            <span>Search within</span>
            <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
          <Transcript utterances={utterances} speakers={speakers} now={now} wanted={wanted} onSeek={seek} />
        </>
      ) : (
        <p class="quiet">The transcript is {transcript.status.replaceAll('_', ' ')}.</p>
      )}
    </article>
  )
}

interface TranscriptProps {
  readonly utterances: readonly Utterance[]
  readonly speakers: ReadonlyMap<number, string | null>
  readonly now: number
  readonly wanted: string
  readonly onSeek: (second: number) => void
}

function Transcript({ utterances, speakers, now, wanted, onSeek }: TranscriptProps) {
  const current = useRef<HTMLLIElement>(null)
  const text = wanted.trim().toLowerCase()
  const shown = text === '' ? utterances : utterances.filter((one) => one.text.toLowerCase().includes(text))
  const at = utterances.findLast(({ startSec }) => startSec <= now)
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest' }), [at])
  return (
    <ol class="transcript" aria-label="Transcript">
      {shown.map((one) => (
        <li
          key={`${one.startSec} ${one.speaker}`}
          ref={one === at ? current : null}
          class={one === at ? 'current' : undefined}
        >
          <button type="button" class="link" onClick={() => onSeek(one.startSec)}>
            {clock(one.startSec)}
          </button>
          <span class="quiet">{speakers.get(one.speaker) ?? `Speaker ${one.speaker + 1}`}</span>
          <span>{one.text}</span>
        </li>
      ))}
    </ol>
  )
}

function copyClip(id: string, second: number): Promise<void> {
  const page = pageOf(`/calls/${id}`, { t: String(Math.floor(second)) })
  return navigator.clipboard.writeText(`${location.origin}${page}`)
}
