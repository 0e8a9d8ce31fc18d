import { serveViewer } from '@retake/web'
import { RunStore } from '../run-store.js'
import { localHome } from '../ui/local-home.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'

export const ui: Verb = {
  name: 'ui',
  summary: 'Open the viewer: see a run, move through it, change it',
  usage: '[<run>] [--port N]',
  help: `Options:
  --port <N>      the port to listen on
  --dir <folder>  where the tapes are (default: .retake/runs)

Examples:
  retake ui`,
  options: {
    port: { type: 'string' },
    'no-open': { type: 'boolean' },
    dir: { type: 'string' },
  },
  async run(values) {
    const server = await serveViewer(localHome(new RunStore(text(values, 'dir'))), {
      port: Number(text(values, 'port') ?? 0),
    })
    console.log(flag(values, 'json') ? JSON.stringify({ url: server.url }) : server.url)
    await new Promise((resolve) => process.once('SIGINT', resolve))
    await server.close()
    return 0
  },
}
