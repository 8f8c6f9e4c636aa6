/**
 * The peer of `bench/upload`: `@tus/server` with its file store, as in its documentation. Runs on Node.js, on which its
 * authors test it.
 */
import { createServer } from 'node:http'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'

const tus = new Server({
  path: '/files',
  datastore: new FileStore({ directory: process.env.UPLOAD_DIR ?? '' }),
})

const server = createServer((request, response) => {
  if (request.url === '/ready') response.end('ready')
  else void tus.handle(request, response)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.on('SIGTERM', () => process.exit(0))
