/** Uploads media files to any Earshot service, over HTTP and without its database. */
import type { Command, Flag } from '../command.ts'

/** The flags of commands for a remote service. */
export const REMOTE_FLAGS: Readonly<Record<'url' | 'key' | 'token', Flag>> = {
  url: { value: 'url', summary: 'the service (default: EARSHOT_URL, else http://localhost:3000)' },
  key: {
    value: 'api key',
    summary: 'API key of the organization (default: EARSHOT_API_KEY, which ps does not show)',
  },
  token: { value: 'user token', summary: 'act for a user instead (default: EARSHOT_USER_TOKEN)' },
}

export const uploadCommands: readonly Command[] = [
  {
    name: 'upload',
    args: [],
    rest: 'file',
    summary: 'Upload media, each file as a recording; repeat an interrupted command to resume it',
    flags: {
      ...REMOTE_FLAGS,
      name: { value: 'name', summary: 'name of the recording (default: the name of the file)' },
      folder: { value: 'id', summary: 'a folder of the recording; repeatable', repeated: true },
      'external-id': {
        value: 'id',
        summary: 'your id of the recording; an existing recording with this id is used',
      },
      replace: { summary: 'replace existing media of the recording with the external id' },
      'no-wait': { summary: 'exit when the bytes have arrived, not when the media is ready' },
    },
    async run(input) {
      const { upload } = await import('../upload.ts')
      return upload(input)
    },
  },
]
