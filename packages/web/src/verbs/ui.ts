import { serveUntilSignal } from '../ui/serve-ui.js'
import {
  type Options,
  PORT,
  usageError,
  type Verb,
  PROGRAM_OPTIONS,
} from '@retake/runner/command-line'
import path from 'node:path'
import { openIntactTape } from '@retake/tape/node'
import { findStep, viewRun, RunStore } from '@retake/runner/runs'
import { fromHere, openBrowser } from '@retake/runner/terminal'

export default {
  arguments: '[run]',
  description: `Serves the viewer on this machine and opens it in the browser, with the list of
runs or one run, until Ctrl-C. Only the printed address gives access; it changes with each start.`,
  options: {
    '--step <N>': 'open the run at this step',
    '--port <port>': 'port to listen on (default: 4600, or the next free one; 0: any free port)',
    '--no-open': 'do not open a browser',
    '--host <address>':
      'listen on an address other than loopback; needs a password, in RETAKE_PASSWORD or a file',
    '--password-file <file>': 'file with the password on its first line',
    '--allow-host <name>...': 'host name of a proxy that leads here; repeatable',
    '--editor <name>':
      'editor for source lines: vscode (default), cursor, windsurf, zed, idea, or an address with {file} and {line}',
    ...PROGRAM_OPTIONS,
    '--json': 'print the address as one line of JSON',
  },
  examples: [
    'retake ui',
    'retake ui last --step 4',
    'RETAKE_PASSWORD=… retake ui --host 0.0.0.0 --allow-host viewer.example.com',
  ],
  async run(options, [name]) {
    const { store, page } = pageToOpen(options, name)
    await serveUntilSignal(store, {
      page,
      port: options.number('port', PORT),
      host: options.text('host'),
      passwordFile: options.text('password-file'),
      allowHosts: options.texts('allow-host'),
      editor: options.text('editor'),
      onServed: async ({ url, port }) => {
        console.log(options.json ? JSON.stringify({ url, port }) : url)
        if (options.json) return
        process.stderr.write(`serving the viewer of ${fromHere(store.folder)} · Ctrl-C ends it\n`)
        if (!options.flag('no-open')) await openBrowser(url)
      },
    })
    return 0
  },
} satisfies Verb

function pageToOpen(options: Options, name: string | undefined): { store: RunStore; page: string } {
  const step = options.text('step')
  const store = options.store
  if (name === undefined) {
    if (step !== undefined)
      throw usageError(
        'Missing argument <run>.',
        'A step belongs to a run: name it before --step, or use `last`.',
      )
    return { store, page: '/' }
  }
  const file = store.find(name)
  const tape = openIntactTape(file)
  if (step !== undefined) findStep(viewRun(tape), step)
  const id = path.basename(file, '.tape')
  const query = step === undefined ? '' : `?step=${encodeURIComponent(step)}`
  const page = `/runs/${encodeURIComponent(id)}${query}`
  // A tape of another folder is shown with that folder, which contains its branches.
  return { store: new RunStore(path.dirname(path.resolve(file))), page }
}
