/** Media files to a service, this one or any other: over HTTP, without its database. */
import type { Command } from '../command.ts'

export const uploadCommands: readonly Command[] = [
  {
    name: 'upload',
    args: [],
    rest: 'file',
    summary:
      'Upload media, each file as a recording; the same command again goes on where it was interrupted',
    flags: {
      url: { value: 'url', summary: 'the service (default: EARSHOT_URL, else http://localhost:3000)' },
      key: {
        value: 'api key',
        summary: 'of the organization (default: EARSHOT_API_KEY, which ps does not show)',
      },
      token: { value: 'user token', summary: 'acts for a user instead (default: EARSHOT_USER_TOKEN)' },
      name: { value: 'name', summary: 'of the recording (default: the name of the file)' },
      folder: { value: 'id', summary: 'a folder of the recording; may be given again', repeated: true },
      'external-id': {
        value: 'id',
        summary: 'by which the recording is known elsewhere; one that exists is used',
      },
      replace: { summary: 'replace the media of the recording that has the external id, if it has any' },
      'no-wait': { summary: 'end when the bytes have arrived, not when the media plays' },
    },
    async run(input) {
      const { upload } = await import('../upload.ts')
      return upload(input)
    },
  },
]
