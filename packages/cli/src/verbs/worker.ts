import { readFileSync } from 'node:fs'
import path from 'node:path'
import { stopRequest } from '@retake/runner/command-line'
import { usageError, type Verb } from '@retake/runner/command-line'
import { serverParts } from '../team/server-parts.js'
import { loadServer, runPackage } from './server.js'

export default {
  arguments: '',
  description: `Runs jobs of a team server on this machine: replay, verify, fork, blame, fix, scan
and export. Agent code runs in bubblewrap, without network and without access to this machine;
without bubblewrap, jobs that run agent code are refused. The worker needs only the address of the
server and the token that \`retake server config --show-worker-token\` prints there. If the server
is unreachable, the worker keeps trying. Several workers can run on one machine, also in one folder.`,
  options: {
    '--server <url>': 'address of the server (default: RETAKE_SERVER)',
    '--token-file <file>': 'file with the token (default: the variable RETAKE_WORKER_TOKEN)',
    '--slots <N>': 'number of jobs to run concurrently (default: 1)',
    '--data <folder>':
      'folder in which the worker creates its own folder for jobs (default: ./retake-worker)',
    '--name <name>': 'name shown on the server (default: the host name with a random end)',
    '--json': 'print one line of JSON when the worker is ready',
  },
  examples: ['retake worker --server https://retake.example.com --token-file worker-token'],
  async run(options) {
    const server = await loadServer()
    if (server === undefined) return runPackage()
    const url = options.text('server') ?? process.env['RETAKE_SERVER'] ?? ''
    if (!URL.canParse(url))
      throw usageError(
        url === '' ? 'Missing option --server <url>.' : `"${url}" is not a valid URL.`,
        'For example: --server https://retake.example.com. RETAKE_SERVER sets it, too.',
      )
    const file = options.text('token-file')
    const token =
      file === undefined ? process.env['RETAKE_WORKER_TOKEN'] : readFileSync(file, 'utf8')
    if (token === undefined || token.trim() === '')
      throw usageError(
        'The worker token is missing.',
        'Pass a file that contains it with --token-file, or set RETAKE_WORKER_TOKEN.',
      )
    const stopped = stopRequest()
    const name = options.text('name')
    const worker = await server.Worker.start({
      server: url.replace(/\/$/, ''),
      token: token.trim(),
      slots: options.number('slots', { least: 1 }) ?? 1,
      folder: path.resolve(options.text('data') ?? 'retake-worker'),
      ...(name !== undefined && { name }),
      parts: await serverParts(),
      log: new server.Log('text'),
    })
    const { refusesCode } = worker
    options.print({ name: worker.name, ...(refusesCode !== undefined && { refusesCode }) }, () => [
      `worker ${worker.name} is waiting for jobs`,
      refusesCode !== undefined && `jobs that run agent code are refused: ${refusesCode}`,
    ])
    await stopped
    await worker.close()
    return 0
  },
} satisfies Verb
