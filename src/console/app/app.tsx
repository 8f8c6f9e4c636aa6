/** The frame of every page: navigation, search, who is signed in, and the routes. */
import { LocationProvider, Route, Router } from 'preact-iso'
import { PREFIX } from './api.ts'
import { SessionContext } from './context.ts'
import { useLoaded } from './load.ts'
import { Calls } from './pages/calls.tsx'
import { Conversation } from './pages/conversation.tsx'
import { Conversations } from './pages/conversations.tsx'
import { Feedback } from './pages/feedback.tsx'
import { FeedbackRecord } from './pages/feedback-record.tsx'
import { Findings } from './pages/findings.tsx'
import { Health } from './pages/health.tsx'
import { NotFound } from './pages/not-found.tsx'
import { Overview } from './pages/overview.tsx'
import { People } from './pages/people.tsx'
import { Person } from './pages/person.tsx'
import { Search } from './pages/search.tsx'
import { Theme } from './pages/theme.tsx'
import { Themes } from './pages/themes.tsx'
import { Frame } from './parts/frame.tsx'
import { Guard } from './parts/guard.tsx'
import { Invitations, NoOrganization } from './parts/invitations.tsx'
import { later } from './parts/later.tsx'
import { ErrorNote } from './parts/notes.tsx'
import { openSession } from './session.ts'

/** The player with its waveform is loaded with the first call that is opened. */
const Call = later('call', () => import('./pages/call.tsx').then(({ Call }) => Call))

/** Few people import files, and not often. */
const FeedbackImport = later('import', () =>
  import('./pages/feedback-import.tsx').then(({ FeedbackImport }) => FeedbackImport),
)

/** Only administrators open the settings. */
const Settings = later('settings', () => import('./pages/settings.tsx').then(({ Settings }) => Settings))

const BASE = `${PREFIX}/console`

export function App() {
  const opened = useLoaded('session', openSession)
  if (opened.data === null)
    return opened.state === 'failed' ? (
      <ErrorNote problem={opened.problem} />
    ) : (
      <p class="loading">Loading…</p>
    )
  return (
    <SessionContext.Provider value={opened.data}>
      <LocationProvider scope={BASE}>
        <Frame>
          <Invitations />
          {opened.data.membership === null ? (
            <NoOrganization />
          ) : (
            <Guard>
              <Router>
                <Route path={BASE} component={Overview} />
                <Route path={`${BASE}/findings`} component={Findings} />
                <Route path={`${BASE}/conversations`} component={Conversations} />
                <Route path={`${BASE}/conversations/:id`} component={Conversation} />
                <Route path={`${BASE}/calls`} component={Calls} />
                <Route path={`${BASE}/calls/:id`} component={Call} />
                <Route path={`${BASE}/feedback`} component={Feedback} />
                <Route path={`${BASE}/feedback/import`} component={FeedbackImport} />
                <Route path={`${BASE}/feedback/:source/:id`} component={FeedbackRecord} />
                <Route path={`${BASE}/people`} component={People} />
                <Route path={`${BASE}/people/:id`} component={Person} />
                <Route path={`${BASE}/themes`} component={Themes} />
                <Route path={`${BASE}/themes/:id`} component={Theme} />
                <Route path={`${BASE}/search`} component={Search} />
                <Route path={`${BASE}/health`} component={Health} />
                <Route path={`${BASE}/settings`} component={Settings} />
                <Route path={`${BASE}/settings/:section`} component={Settings} />
                <Route path={`${BASE}/settings/:section/:id`} component={Settings} />
                <Route default component={NotFound} />
              </Router>
            </Guard>
          )}
        </Frame>
      </LocationProvider>
    </SessionContext.Provider>
  )
}
