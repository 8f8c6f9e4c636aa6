/** One call: the player with its waveform, and the transcript, which follows and seeks. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { pageOf, useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { mediaWords, transcriptWords } from '../call/call-words.ts'
import { NameSpeaker } from '../call/name-speaker.tsx'
import { UploadMedia } from '../call/upload-media.tsx'
import { useSession } from '../context.ts'
import { useLive } from '../live.ts'
import { useLoaded } from '../load.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Player, type PlayerControl } from '../parts/player.tsx'
import { Tag, Time, Title, Unread } from '../parts/small.tsx'
import { clock } from '../words.ts'

type Recording = Schemas['Recording']
type Utterance = Schemas['Utterance']

const TRANSCRIPT = '/v3/rest/recordings/{recordingId}/transcript'

export function Call() {
  const { params } = useRoute()
  const recordingId = params.id ?? ''
  const [round, setRound] = useState(0)
  const recording = useLoaded(`${recordingId} ${round}`, (signal) =>
    contentOf(api.GET('/v3/rest/recordings/{recordingId}', { params: { path: { recordingId } }, signal })),
  )
  const isReady = recording.data?.transcript.status === 'completed'
  const reload = () => setRound((before) => before + 1)
  const isMoving = recording.data !== null && isUnderWay(recording.data)
  useEffect(() => {
    if (!isMoving || recording.state === 'loading') return
    const timer = setTimeout(reload, POLL_MS)
    return () => clearTimeout(timer)
  }, [isMoving, recording.state, round])
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
  return <OneCall recording={recording.data} utterances={utterances ?? []} onChange={reload} />
}

const POLL_MS = 2_000

/** The state will change without the viewer. */
function isUnderWay({ asset, transcript }: Recording): boolean {
  const isAssetMoving = asset !== null && !['completed', 'failed', 'cancelled'].includes(asset.status)
  return isAssetMoving || ['queued', 'processing'].includes(transcript.status)
}

/** Media can be sent: there is none yet, and no recorder brings any. */
function takesMedia({ asset, meeting }: Recording): boolean {
  return (
    meeting == null &&
    (asset === null || ['waiting', 'uploading', 'failed', 'cancelled'].includes(asset.status))
  )
}

function OneCall({
  recording,
  utterances,
  onChange,
}: {
  readonly recording: Recording
  readonly utterances: readonly Utterance[]
  readonly onChange: () => void
}) {
  const { membership } = useSession()
  const mayChange = membership?.role !== 'viewer'
  const start = Number(useFilters().get('t')) || 0
  const player = useRef<PlayerControl | null>(null)
  const [now, setNow] = useState(start)
  const [wanted, setWanted] = useState('')
  const { transcript, participants, summary, startedAt, createdAt, displayName } = recording
  // Each answer has another URL of the same media. The player keeps its own.
  const asset = useMemo(
    () => recording.asset,
    [recording.id, recording.asset?.status, recording.asset?.durationSeconds],
  )
  const speakers = new Map(
    participants.map((one) => [
      one.speaker,
      [one.firstName, one.lastName].filter(Boolean).join(' ') || one.email,
    ]),
  )
  const findings = useLoaded(`${recording.id} ${useLive('findings')}`, (signal) =>
    contentOf(
      api.GET('/v3/rest/signals', {
        params: { query: { recordingId: recording.id, limit: 100 } },
        signal,
      }),
    ),
  )
  const seek = (second: number) => {
    setNow(second)
    player.current?.seek(second)
  }
  return (
    <article>
      <Title text={displayName ?? 'Unnamed call'}>
        {transcript.status === 'completed' ? <Unread analysis={recording.analysis} /> : null}
        <Time at={startedAt ?? createdAt} />
      </Title>
      {summary === null ? null : (
        <p class="summary" dir="auto">
          {summary}
        </p>
      )}
      {asset?.url == null ? (
        <p class="quiet">{mediaWords(recording)}</p>
      ) : (
        <Player asset={asset} start={start} control={player} onTime={setNow} />
      )}
      {mayChange && takesMedia(recording) ? (
        <UploadMedia
          recordingId={recording.id}
          isBegun={['waiting', 'uploading'].includes(asset?.status ?? '')}
          onSent={onChange}
        />
      ) : null}
      <p class="row">
        {participants.map((one) =>
          one.personId === null ? null : (
            <a key={one.speaker} href={pageOf(`/people/${one.personId}`)} dir="auto">
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
          {mayChange && utterances.length > 0 ? (
            <NameSpeaker
              recording={recording}
              speakers={[...new Set(utterances.map(({ speaker }) => speaker))].toSorted((a, b) => a - b)}
              onNamed={onChange}
            />
          ) : null}
          <Transcript
            utterances={utterances}
            findings={findings.data?.data ?? []}
            speakers={speakers}
            now={now}
            wanted={wanted}
            onSeek={seek}
          />
        </>
      ) : (
        <NoTranscript recording={recording} />
      )}
    </article>
  )
}

function NoTranscript({ recording }: { readonly recording: Recording }) {
  const { text, needsRecogniser } = transcriptWords(recording)
  return (
    <p class="quiet">
      {text}
      {needsRecogniser ? (
        <>
          {' '}
          To have calls transcribed, the operator sets <code>TRANSCRIBE_URL</code> or{' '}
          <code>TRANSCRIBE_COMMAND</code>, and then runs <code>earshot recording transcribe-all</code>.
        </>
      ) : null}
    </p>
  )
}

interface TranscriptProps {
  readonly utterances: readonly Utterance[]
  readonly findings: readonly Schemas['Signal'][]
  readonly speakers: ReadonlyMap<number, string | null>
  readonly now: number
  readonly wanted: string
  readonly onSeek: (second: number) => void
}

/** Findings stand beside the words on which they rest. */
function Transcript({ utterances, findings, speakers, now, wanted, onSeek }: TranscriptProps) {
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
          <span class="quiet" dir="auto">
            {speakers.get(one.speaker) ?? `Speaker ${one.speaker + 1}`}
          </span>
          <span dir="auto">
            {one.text}{' '}
            {findings
              .filter(({ evidence }) => evidence?.startSec === one.startSec)
              .map(({ id, kind, rating }) => (
                <Tag key={id} value={kind} tone={rating} />
              ))}
          </span>
        </li>
      ))}
    </ol>
  )
}

function copyClip(id: string, second: number): Promise<void> {
  const page = pageOf(`/calls/${id}`, { t: String(Math.floor(second)) })
  return navigator.clipboard.writeText(`${location.origin}${page}`)
}
