import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors/command-line.js'
import { findStep, viewRun } from '../runs/view-run.js'
import { fromHere } from '../terminal/terminal.js'
import { nextSignal } from '../proxy-lines.js'
import { RunStore } from '../runs/run-store.js'
import { TRUST_OPTION } from '../agent/trust.js'
import { localHome } from '../ui/local-home.js'
import { openBrowser } from '../terminal/open-browser.js'
import { serveUi } from '../ui/serve-ui.js'
import { flag, type OptionValues, text, texts, type Verb } from '../command-line/verb.js'

export const ui: Verb = {
  usage: '[<run>] [--step N] [options]',
  help: `Serves the viewer on this machine and opens it in the browser, with the list of
runs or with one run. It goes on until Ctrl-C. Only who has the printed address
is let in; each start makes a new one.

Options:
  --step <N>              the step to open the run at
  --port <port>           where to listen (default: 4600, or the next that is
                          free; 0: any that is free)
  --no-open               do not open a browser
  --trust                 also start programs of runs from elsewhere
  --dir <folder>          where the tapes are (default: .retake/runs)
  --host <address>        listen on another address than the loopback; needs a
                          password, in RETAKE_PASSWORD or a file
  --password-file <file>  a file whose first line is the password
  --allow-host <name>     a name that leads here through a proxy; may be
                          repeated
  --json                  the address as one line of JSON

Examples:
  retake ui
  retake ui last --step 4
  RETAKE_PASSWORD=… retake ui --host 0.0.0.0 --allow-host viewer.example.com`,
  options: {
    ...TRUST_OPTION,
    step: { type: 'string' },
    port: { type: 'string' },
    host: { type: 'string' },
    'password-file': { type: 'string' },
    'allow-host': { type: 'string', multiple: true },
    'no-open': { type: 'boolean' },
    dir: { type: 'string' },
  },
  async run(values, positionals) {
    const { store, page } = whatToOpen(values, positionals)
    const home = localHome(store)
    const signal = nextSignal()
    const server = await serveUi(home, {
      port: text(values, 'port'),
      host: text(values, 'host'),
      passwordFile: text(values, 'password-file'),
      allowHosts: texts(values, 'allow-host'),
    })
    // While the browser starts, which takes as long.
    if (page === '/') home.runs().catch(() => {})
    const url = server.link(page)
    console.log(flag(values, 'json') ? JSON.stringify({ url, port: server.port }) : url)
    if (!flag(values, 'json')) {
      process.stderr.write(`serving the viewer of ${fromHere(store.folder)} · Ctrl-C ends it\n`)
      if (!flag(values, 'no-open')) await openBrowser(url)
    }
    await signal
    await Promise.all([server.close(), home.close?.()])
    return 0
  },
}

/** The folder whose runs are shown, and the page to begin with. */
function whatToOpen(
  values: OptionValues,
  positionals: readonly string[],
): { store: RunStore; page: string } {
  const [name, ...rest] = positionals
  const step = text(values, 'step')
  if (rest.length > 0)
    throw wrongUsage('ui', 'One run can be named.', 'The others are a click away.')
  const store = new RunStore(text(values, 'dir'))
  if (name === undefined) {
    if (step !== undefined)
      throw wrongUsage('ui', 'A step of which run?', 'Name the run before --step, or say `last`.')
    return { store, page: '/' }
  }
  const file = store.find(name)
  const tape = openTape(file)
  if (step !== undefined) findStep(viewRun(tape), step)
  const id = path.basename(file, '.tape')
  const query = step === undefined ? '' : `?step=${encodeURIComponent(step)}`
  const page = `/runs/${encodeURIComponent(id)}${query}`
  // A tape of another folder is shown among its neighbours, where its branches are.
  return { store: new RunStore(path.dirname(path.resolve(file))), page }
}
