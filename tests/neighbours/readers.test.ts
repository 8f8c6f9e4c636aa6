/** Large answers to one organization do not delay the requests of another. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { clientOf } from '../support/server.ts'
import { attackersHeaders, expectNeighbourUnharmed, useNeighbours } from './support/neighbours.ts'

setDefaultTimeout(240_000)

const neighbours = useNeighbours()

/** A transcript of about 2.2 MB. */
const LONG = Array.from({ length: 10_000 }, (_, index) =>
  utterance(
    index,
    index + 1,
    index % 3,
    'We have talked about the invoices for a while, and about the export. '.repeat(2),
  ),
)

test('24 readers of a transcript of 2.2 MB', async () => {
  const { service, attacker } = neighbours()
  const client = clientOf(service.baseUrl, { apiKey: attacker.tenant.apiKey })
  const { id } = await createRecording(client, { transcript: LONG })
  const statuses = await expectNeighbourUnharmed(neighbours(), {
    clients: 24,
    requests: (all) =>
      ['', '?type=monologue', '?format=vtt'].map((query) => ({
        method: 'GET',
        path: `${RECORDINGS}/${id}/transcript${query}`,
        headers: { ...attackersHeaders(all), 'accept-encoding': 'gzip' },
      })),
  })
  expect(Object.keys(statuses)).toEqual(['200'])
})
