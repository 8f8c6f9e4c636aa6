/** Access tokens with which a program acts as a member. */
import { useState } from 'preact/hooks'
import { api, contentOf, type Schemas } from '../api.ts'
import { useLoaded, usePages } from '../load.ts'
import { Confirmed, FormDialog, Opens, SecretDialog } from '../parts/dialogs.tsx'
import { ErrorNote } from '../parts/notes.tsx'
import { Tag, Time, Title } from '../parts/small.tsx'
import { nameOf, useAllMembers } from './all-of.ts'
import { Field, LastUsed, Row, Rows, slice } from './parts.tsx'

type Member = Schemas['Member']

const TOKENS = '/v3/rest/user-tokens'
const TOKEN = '/v3/rest/user-tokens/{tokenId}'
const DAY = 86_400
const LIFETIMES = [
  [1, 'A day'],
  [30, '30 days'],
  [90, '90 days'],
  [365, 'A year'],
] as const

export function Tokens() {
  const [round, setRound] = useState(0)
  const [created, setCreated] = useState<string | null>(null)
  const reload = () => setRound((before) => before + 1)
  const members = useAllMembers('tokens')
  const pages = usePages(`user tokens ${round}`, (cursor, signal) =>
    contentOf(api.GET(TOKENS, { params: { query: slice(cursor) }, signal })),
  )
  const known = members.data ?? []
  const signIn = useLoaded('issuer of tokens', (signal) => contentOf(api.GET('/v3/rest/sign-in', { signal })))
  const issuer = signIn.data?.tokenIssuer ?? null
  return (
    <>
      <Title text="User tokens">
        {issuer !== null ? null : (
          <Opens
            label="New token"
            dialog={(close) => (
              <NewToken
                members={known}
                onClose={close}
                onCreated={(token) => {
                  setCreated(token)
                  reload()
                }}
              />
            )}
          />
        )}
      </Title>
      {issuer === null ? null : (
        <p>{issuer} makes the tokens of this service. Get one there; it is not listed here.</p>
      )}
      {members.state === 'failed' ? <ErrorNote problem={members.problem} /> : null}
      {created === null ? null : (
        <SecretDialog title="The new token" secret={created} onClose={() => setCreated(null)}>
          <p class="quiet">
            Programs send it as <code>Authorization: Bearer</code>. It acts as its member.
          </p>
        </SecretDialog>
      )}
      <Rows
        label="User tokens"
        pages={pages}
        keyOf={({ id }) => id}
        row={(token) => <TokenRow token={token} members={known} onChanged={reload} />}
        empty={<p>No token yet. A program that acts as a member, such as a coding agent, needs one.</p>}
      />
    </>
  )
}

function NewToken(props: {
  readonly members: readonly Member[]
  readonly onClose: () => void
  readonly onCreated: (token: string) => void
}) {
  return (
    <FormDialog
      title="New user token"
      submit="Create"
      onClose={props.onClose}
      onSubmit={async ({ text }) => {
        const body = {
          userId: text('userId'),
          name: text('name') || null,
          expiresInSeconds: Number(text('days')) * DAY,
        }
        const { token } = await contentOf(api.POST(TOKENS, { body }))
        return () => props.onCreated(token)
      }}
    >
      <p>Whoever has the token acts as this member. The audit log shows it.</p>
      <Field label="Member">
        <select name="userId" required>
          {props.members.map((member) => (
            <option key={member.id} value={member.id}>
              {nameOf(member)}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Name" hint="What the token is for.">
        <input name="name" maxLength={255} autocomplete="off" />
      </Field>
      <Field label="Valid for">
        <select name="days">
          {LIFETIMES.map(([days, label]) => (
            <option key={days} value={String(days)} selected={days === 30}>
              {label}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  )
}

function TokenRow(props: {
  readonly token: Schemas['UserToken']
  readonly members: readonly Member[]
  readonly onChanged: () => void
}) {
  const { id, userId, name, expiresAt, lastUsedAt, revokedAt } = props.token
  const owner = props.members.find((member) => member.id === userId)?.email ?? userId
  const isExpired = Date.parse(expiresAt) < Date.now()
  return (
    <Row
      main={name ?? 'Without a name'}
      note={
        <>
          {owner}, {isExpired ? 'expired' : 'expires'} <Time at={expiresAt} />, <LastUsed at={lastUsedAt} />
        </>
      }
    >
      {revokedAt !== null ? (
        <Tag value="revoked" />
      ) : isExpired ? (
        <Tag value="expired" />
      ) : (
        <Confirmed
          label="Revoke"
          name={`Revoke the token ${name ?? ''} of ${owner}`}
          title="Revoke this token?"
          act={async () => {
            await contentOf(api.DELETE(TOKEN, { params: { path: { tokenId: id } } }))
            props.onChanged()
          }}
        >
          <p>Programs with this token are refused at once. This cannot be taken back.</p>
        </Confirmed>
      )}
    </Row>
  )
}
