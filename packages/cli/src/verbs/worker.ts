import { readFileSync } from 'node:fs'
import path from 'node:path'
import { nextSignal } from '../command-line/exit-codes.js'
import { usageError, type Verb } from '../command-line/verb.js'
import { serverParts } from '../team/server-parts.js'
import { loadServer, runPackage } from './server.js'

export default {
  arguments: '',
  description: `Runs jobs of a team server on this machine: replay, verify, fork, blame, fix, scan and
export. Code of agents runs in bubblewrap, without network, and sees nothing of this machine; without
bubblewrap, jobs that need it are refused. The worker needs nothing but the address of the server
and the token that \`retake server config --show-worker-token\` prints there. It waits when the
server is away.`,
  options: {
    '--server <url>': 'address of the server (default: RETAKE_SERVER)',
    '--token-file <file>': 'file with the token (default: the variable RETAKE_WORKER_TOKEN)',
    '--slots <N>': 'jobs at a time (default: 1)',
    '--data <folder>': 'folder for jobs in progress (default: ./retake-worker)',
    '--name <name>': 'name on the pages of the server (default: that of the machine)',
    '--json': 'print one line of JSON when it is ready',
  },
  examples: ['retake worker --server https://retake.example.com --token-file worker-token'],
  async run(options) {
    const server = await loadServer()
    if (server === undefined) return runPackage()
    const url = options.text('server') ?? process.env['RETAKE_SERVER'] ?? ''
    if (!URL.canParse(url))
      throw usageError(`"${url}" is not an address.`, 'Name the server with --server.')
    const file = options.text('token-file')
    const token =
      file === undefined ? process.env['RETAKE_WORKER_TOKEN'] : readFileSync(file, 'utf8')
    if (token === undefined || token.trim() === '')
      throw usageError(
        'The worker has no token.',
        'Name a file that contains it with --token-file.',
      )
    const stopped = nextSignal()
    const name = options.text('name')
    const worker = await server.Worker.start({
      server: url.replace(/\/$/, ''),
      token: token.trim(),
      slots: options.number('slots', { least: 1 }) ?? 1,
      folder: path.resolve(options.text('data') ?? 'retake-worker', 'jobs'),
      ...(name !== undefined && { name }),
      parts: await serverParts(),
      log: new server.Log('text'),
    })
    const { refusesCode } = worker
    options.print({ name: worker.name, ...(refusesCode !== undefined && { refusesCode }) }, () => [
      `worker ${worker.name} waits for jobs`,
      ...(refusesCode === undefined
        ? []
        : [`jobs that start programs are refused: ${refusesCode}`]),
    ])
    await stopped
    await worker.close()
    return 0
  },
} satisfies Verb
