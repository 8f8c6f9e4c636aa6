/** Who belongs to the organization, and what they may do there. */
import { useState } from 'preact/hooks'
import { useFilters } from '../address.ts'
import { api, contentOf, type Schemas } from '../api.ts'
import { useSession } from '../context.ts'
import { usePages } from '../load.ts'
import { Failure, useAct } from '../parts/act.tsx'
import { Confirmed, FormDialog, Opens } from '../parts/dialogs.tsx'
import { Time, Title } from '../parts/small.tsx'
import { labelOf } from '../words.ts'
import { nameOf, useAllMembers } from './all-of.ts'
import { Field, Row, Rows, slice } from './parts.tsx'

type Member = Schemas['Member']
type Role = NonNullable<Member['role']>

const MEMBERS = '/v3/rest/members'
const MEMBER = '/v3/rest/members/{memberId}'
const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'reads and searches'],
  ['analyst', 'also corrects, names and uploads'],
  ['administrator', 'also changes settings'],
]
const isRole = (text: string): text is Role => ROLES.some(([role]) => role === text)

export function Members() {
  const filters = useFilters()
  const removed = filters.get('removed') === 'true'
  const [round, setRound] = useState(0)
  const reload = () => setRound((before) => before + 1)
  const pages = usePages(`members ${removed} ${round}`, (cursor, signal) =>
    contentOf(api.GET(MEMBERS, { params: { query: { ...slice(cursor), removed } }, signal })),
  )
  return (
    <>
      <Title text="Members">
        <Opens label="Add a member" dialog={(close) => <NewMember onClose={close} onAdded={reload} />} />
        <label class="filter">
          <span>Show</span>
          <select
            value={String(removed)}
            onChange={({ currentTarget: { value } }) => filters.set('removed', value === 'true' ? value : '')}
          >
            <option value="false">Members</option>
            <option value="true">Former members</option>
          </select>
        </label>
      </Title>
      <Rows
        key={String(removed)}
        label={removed ? 'Former members' : 'Members'}
        pages={pages}
        keyOf={({ id }) => id}
        row={(member) => <MemberRow member={member} onChanged={reload} />}
        empty={<p>{removed ? 'Nobody was removed.' : 'No member yet.'}</p>}
      />
    </>
  )
}

function NewMember({ onClose, onAdded }: { readonly onClose: () => void; readonly onAdded: () => void }) {
  return (
    <FormDialog
      title="Add a member"
      submit="Add"
      onClose={onClose}
      onSubmit={async ({ text }) => {
        const [name, role] = [text('name'), text('role')]
        const body = {
          email: text('email'),
          role: isRole(role) ? role : 'viewer',
          ...(name === '' ? {} : { name }),
        }
        await contentOf(api.POST(MEMBERS, { body }))
        onAdded()
      }}
    >
      <p>
        Tell the person to sign in with this address. A person whom another organization knows is asked first,
        by mail and in the console.
      </p>
      <Field label="E-mail address">
        <input name="email" type="email" required maxLength={254} autocomplete="off" />
      </Field>
      <Field label="Name">
        <input name="name" maxLength={255} autocomplete="off" />
      </Field>
      <Field label="Role">
        <select name="role">
          {ROLES.map(([role, may]) => (
            <option key={role} value={role}>
              {labelOf(role)}: {may}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  )
}

function MemberRow({ member, onChanged }: { readonly member: Member; readonly onChanged: () => void }) {
  const { session } = useSession()
  const { id, name, email, role, status, joinedAt, removedAt } = member
  return (
    <Row
      main={
        <>
          {name}
          {id === session.user.id ? ' (you)' : ''}
        </>
      }
      note={
        <>
          {email}, {status === 'invited' ? 'invited, has not accepted' : 'joined'} <Time at={joinedAt} />
          {removedAt === null ? null : (
            <>
              , removed <Time at={removedAt} />
            </>
          )}
          <br />
          <code>{id}</code>
        </>
      }
    >
      {role === null ? null : (
        <>
          <ChooseRole member={member} role={role} onChanged={onChanged} />
          <Revoke id={id} email={email} />
          <Remove id={id} email={email} onChanged={onChanged} />
        </>
      )}
    </Row>
  )
}

function ChooseRole(props: { readonly member: Member; readonly role: Role; readonly onChanged: () => void }) {
  const { problem, isBusy, act } = useAct()
  const { id, email } = props.member
  return (
    <div>
      <select
        aria-label={`Role of ${email}`}
        value={props.role}
        disabled={isBusy}
        onChange={(event) => {
          const box = event.currentTarget
          const role = box.value
          if (!isRole(role)) return
          void act(async () => {
            await contentOf(api.PATCH(MEMBER, { params: { path: { memberId: id } }, body: { role } }))
            props.onChanged()
          }).then((isDone) => {
            if (!isDone) box.value = props.role
          })
        }}
      >
        {ROLES.map(([role]) => (
          <option key={role} value={role}>
            {labelOf(role)}
          </option>
        ))}
      </select>
      <Failure problem={problem} />
    </div>
  )
}

const Revoke = ({ id, email }: { readonly id: string; readonly email: string }) => (
  <Confirmed
    label="End sessions"
    name={`End sessions and tokens of ${email}`}
    title={`End sessions and tokens of ${email}?`}
    act={() => contentOf(api.DELETE(`${MEMBER}/user-tokens`, { params: { path: { memberId: id } } }))}
  >
    <p>
      The person is signed out everywhere, and programs with their tokens are refused. They can sign in again.
    </p>
  </Confirmed>
)

interface RemoveProps {
  readonly id: string
  readonly email: string
  readonly onChanged: () => void
}

const Remove = ({ id, email, onChanged }: RemoveProps) => (
  <Confirmed
    label="Remove"
    name={`Remove ${email}`}
    title={`Remove ${email}?`}
    act={async ({ text }) => {
      const heir = text('transferTo')
      const params = { path: { memberId: id }, query: heir === '' ? {} : { transferTo: heir } }
      await contentOf(api.DELETE(MEMBER, { params }))
      onChanged()
    }}
  >
    <p>
      The organization refuses this person at once. Nothing is deleted: recordings and shared folders stay.
    </p>
    <Heir without={id} />
  </Confirmed>
)

function Heir({ without }: { readonly without: string }) {
  const members = useAllMembers('heirs')
  return (
    <Field label="Private folders go to" hint="Hidden folders are found again if the person is added again.">
      <select name="transferTo">
        <option value="">Nobody: they are hidden</option>
        {(members.data ?? [])
          .filter(({ id }) => id !== without)
          .map((member) => (
            <option key={member.id} value={member.id}>
              {nameOf(member)}
            </option>
          ))}
      </select>
    </Field>
  )
}
