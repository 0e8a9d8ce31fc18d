import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { eventLines } from '@retake/tape'
import type { EventLine, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors.js'
import { RunStore } from '../run-store.js'
import { text } from '../verb.js'
import type { Verb } from '../verb.js'

export const exportRun: Verb = {
  name: 'export',
  summary: 'Write a run in another format',
  usage: '<run> --jsonl',
  help: `Options:
  --jsonl         one event a line, for grep and jq; \`body\` is JSON where the
                  body is JSON, a string where it is text, else { "base64": … }
  --dir <folder>  where the tapes are (default: .retake/runs)

Examples:
  retake export last --jsonl | jq 'select(.type == "request") | .body.messages'
  retake export last --jsonl | grep '"type":"draw"'`,
  options: { jsonl: { type: 'boolean' }, dir: { type: 'string' } },
  async run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage(
        'export',
        'Name one run to export.',
        'For example: retake export last --jsonl.',
      )
    if (values['jsonl'] !== true && values['json'] !== true) {
      throw wrongUsage('export', 'No format was named.', 'The formats are: --jsonl.')
    }
    const tape = openTape(new RunStore(text(values, 'dir')).find(name))
    await pipeline(Readable.from(lines(tape)), process.stdout, { end: false })
    return 0
  },
}

function* lines(tape: Tape): Generator<string> {
  for (const event of eventLines(tape)) {
    yield `${JSON.stringify(isTraffic(event) ? { ...event, body: parsed(event.body) } : event)}\n`
  }
}

const isTraffic = ({ type, body }: EventLine): boolean =>
  (type === 'request' || type === 'deliver') && typeof body === 'string'

/** JSON on the wire is shown as JSON, so that jq can look into it. */
function parsed(body: unknown): unknown {
  if (typeof body !== 'string' || !/^\s*[[{]/.test(body)) return body
  try {
    return JSON.parse(body) as unknown
  } catch {
    return body
  }
}
