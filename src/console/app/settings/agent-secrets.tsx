/** The secrets of an agent. A new one is shown once, with the command that sends a first conversation. */
import { useState } from 'preact/hooks'
import { pageOf } from '../address.ts'
import { api, contentOf, PREFIX, type Schemas } from '../api.ts'
import { useLive } from '../live.ts'
import { useLoaded } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { Confirmed, CopyText } from '../parts/dialogs.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Tag, Time } from '../parts/small.tsx'
import { LastUsed, Row } from './parts.tsx'

type Agent = Schemas['AgentApplication']

const SECRETS = '/v3/rest/agent-applications/{applicationId}/secrets'

export function Secrets({ agent }: { readonly agent: Agent }) {
  const params = { path: { applicationId: agent.id } }
  const [round, setRound] = useState(0)
  const [secret, setSecret] = useState<Schemas['NewAgentSecret'] | null>(null)
  const { problem, isBusy, act } = useAct()
  const loaded = useLoaded(`secrets ${agent.id} ${round}`, (signal) =>
    contentOf(api.GET(SECRETS, { params, signal })),
  )
  const reload = () => setRound((before) => before + 1)
  const create = () =>
    act(async () => {
      setSecret(await contentOf(api.POST(SECRETS, { params })))
      reload()
    })
  return (
    <section aria-labelledby="secrets">
      <h2 id="secrets">Secrets</h2>
      {secret === null ? (
        <button type="button" disabled={isBusy} onClick={() => void create()}>
          New secret
        </button>
      ) : (
        <NewSecret agent={agent} secret={secret} onClose={() => setSecret(null)} />
      )}
      <Failure problem={problem} />
      {loaded.data === null ? (
        loaded.state === 'failed' ? (
          <ErrorNote problem={loaded.problem} />
        ) : (
          <Loading />
        )
      ) : loaded.data.data.length === 0 ? (
        <p>No secret yet. Create one: its command sends the first conversation.</p>
      ) : (
        <ul class="list settings-list" aria-label="Secrets">
          {loaded.data.data.toReversed().map((one) => (
            <li key={one.id}>
              <SecretRow agentId={agent.id} secret={one} onRevoked={reload} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function SecretRow(props: {
  readonly agentId: string
  readonly secret: Schemas['AgentSecret']
  readonly onRevoked: () => void
}) {
  const { id, prefix, createdAt, lastUsedAt, revokedAt } = props.secret
  return (
    <Row
      main={<code>{prefix}…</code>}
      note={
        <>
          created <Time at={createdAt} />, <LastUsed at={lastUsedAt} />
        </>
      }
    >
      {revokedAt !== null ? (
        <Tag value="revoked" />
      ) : (
        <Confirmed
          label="Revoke"
          name={`Revoke the secret ${prefix}`}
          title="Revoke this secret?"
          act={async () => {
            const path = { applicationId: props.agentId, secretId: id }
            await contentOf(api.DELETE(`${SECRETS}/{secretId}`, { params: { path } }))
            props.onRevoked()
          }}
        >
          <p>Programs that send with it are refused at once. This cannot be taken back.</p>
        </Confirmed>
      )}
    </Row>
  )
}

/** Kept by this component alone: it is gone with the page. */
function NewSecret(props: {
  readonly agent: Agent
  readonly secret: Schemas['NewAgentSecret']
  readonly onClose: () => void
}) {
  const { agent, onClose } = props
  const { secret, createdAt } = props.secret
  const [conversation] = useState(() => `first-${crypto.randomUUID().slice(0, 8)}`)
  return (
    <section class="note" aria-labelledby="new-secret">
      <h3 id="new-secret">The new secret</h3>
      <p>Store it now. It is shown only once.</p>
      <CopyText text={secret} what="secret" />
      <h3>Send a first conversation</h3>
      <p>Copy this into a terminal, or have your agent send the same.</p>
      <CopyText text={commandOf(agent.agentKey, secret, conversation)} what="command" />
      {agent.settings.conversationAccess.type === 'restricted' ? (
        <p class="quiet">Only the users whom its settings list see the conversations of this agent.</p>
      ) : null}
      <Arrival agentKey={agent.agentKey} conversation={conversation} since={createdAt} />
      <button type="button" onClick={onClose}>
        I have stored it
      </button>
    </section>
  )
}

/** Text within single quotes of a shell. An agent key has no quotes; neither has a secret. */
function commandOf(agentKey: string, secret: string, conversation: string): string {
  const body = {
    agentKey,
    externalSessionId: conversation,
    status: 'open',
    events: [{ type: 'user_message', content: 'Where do I find my invoice?' }],
  }
  return `curl -s ${location.origin}${PREFIX}/v3/rest/agent-conversations/append \\
  -H 'X-Service-Agent-Key: ${secret}' \\
  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
}

/** Waits for the conversation of the command, or for another that the agent sends meanwhile. */
function Arrival(props: {
  readonly agentKey: string
  readonly conversation: string
  /** When the secret was created, by the clock of the service. */
  readonly since: string
}) {
  const { agentKey, conversation, since } = props
  const round = useLive('conversations')
  const loaded = useLoaded(`arrival ${agentKey} ${round}`, (signal) =>
    contentOf(
      api.GET('/v3/rest/agent-conversations/sessions', {
        params: { query: { agentKey, createdAfter: since, limit: 20 } },
        signal,
      }),
    ),
  )
  const found = loaded.data?.data ?? []
  const arrived = found.find(({ externalSessionId }) => externalSessionId === conversation) ?? found[0]
  if (arrived === undefined)
    return loaded.state === 'failed' ? (
      <Failure problem={loaded.problem} />
    ) : (
      <p role="status">Waiting for the first message…</p>
    )
  return (
    <p role="status">
      It has arrived: <a href={pageOf(`/conversations/${arrived.id}`)}>open the conversation</a>.
    </p>
  )
}
