/** What the executable contains besides npm packages. The licence texts are the files beside this one. */
export interface Program {
  readonly name: string
  readonly where: string
  /** SPDX expression. */
  readonly license: string
  /** File of the text in this folder. */
  readonly file: string
}

const POSTGRESQL_LIBRARY = 'library of the embedded PostgreSQL'

export const PROGRAMS: readonly Program[] = [
  {
    name: 'Bun, with JavaScriptCore',
    where: 'runs the executable',
    license: 'MIT AND LGPL-2.1-or-later',
    file: 'bun.txt',
  },
  {
    name: 'PostgreSQL',
    where: 'the embedded database, and its client libraries',
    license: 'PostgreSQL',
    file: 'postgresql.txt',
  },
  { name: 'OpenSSL 1.1.1', where: POSTGRESQL_LIBRARY, license: 'OpenSSL', file: 'openssl.txt' },
  { name: 'ICU', where: POSTGRESQL_LIBRARY, license: 'MIT', file: 'icu.txt' },
  { name: 'libxml2', where: POSTGRESQL_LIBRARY, license: 'MIT AND ISC', file: 'libxml2.txt' },
  { name: 'libxslt', where: POSTGRESQL_LIBRARY, license: 'MIT', file: 'libxslt.txt' },
  { name: 'zlib', where: POSTGRESQL_LIBRARY, license: 'Zlib', file: 'zlib.txt' },
  { name: 'OSSP uuid', where: POSTGRESQL_LIBRARY, license: 'HPND-sell-variant', file: 'ossp-uuid.txt' },
  { name: 'liblzma', where: POSTGRESQL_LIBRARY, license: 'Public domain', file: 'liblzma.txt' },
]
