import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type EventLine, eventLines, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { wrongUsage } from '../errors/command-line.js'
import { askedPatterns } from '../redact/patterns.js'
import { redactRun } from '../redact/redact-run.js'
import { RunStore } from '../runs/run-store.js'
import { text, texts, type Verb } from '../command-line/verb.js'

export const exportRun: Verb = {
  usage: '<run> --jsonl',
  help: `Options:
  --jsonl         one event a line, for grep and jq; \`body\` is JSON where the
                  body is JSON, a string where it is text, else { "base64": … }
  --redact <pattern>
                  hide what matches: a regular expression, or one of the names
                  email, phone, card, iban, ip, key; may be repeated. Those of
                  retake.config come on top
  --dir <folder>  where the tapes are (default: .retake/runs)

Examples:
  retake export last --jsonl | jq 'select(.type == "request") | .body.messages'
  retake export last --jsonl | grep '"type":"draw"'`,
  options: {
    jsonl: { type: 'boolean' },
    redact: { type: 'string', multiple: true },
    dir: { type: 'string' },
  },
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
    const file = new RunStore(text(values, 'dir')).find(name)
    const patterns = askedPatterns(texts(values, 'redact'), openTape(file))
    const redacted = patterns.length > 0 ? redactRun(file, patterns) : undefined
    try {
      const tape = openTape(redacted?.files.at(-1) ?? file)
      await pipeline(Readable.from(lines(tape)), process.stdout, { end: false })
    } finally {
      redacted?.dispose()
    }
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
