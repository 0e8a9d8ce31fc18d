import { attempt } from '../attempt.js'
import { DIR_OPTION, REDACT_OPTION, usageError, type Verb } from '../command-line/verb.js'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type EventLine, eventLines, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { givenPatterns } from '../report/patterns.js'
import { redactRun } from '../report/redact-run.js'

export default {
  arguments: '<run>',
  options: {
    '--jsonl':
      'one event per line, for grep and jq; `body` is JSON if the body is JSON, a string if it is text, otherwise { "base64": … }',
    ...REDACT_OPTION,
    ...DIR_OPTION,
  },
  examples: [
    `retake export last --jsonl | jq 'select(.type == "request") | .body.messages'`,
    `retake export last --jsonl | grep '"type":"draw"'`,
  ],
  async run(options, [name = '']) {
    if (!options.flag('jsonl') && !options.json) {
      throw usageError('Missing option --jsonl.', 'It is the only format.')
    }
    const file = options.store.find(name)
    const patterns = givenPatterns(options.texts('redact'), openTape(file))
    const redacted = patterns.length > 0 ? redactRun(file, patterns) : undefined
    try {
      const tape = openTape(redacted?.files.at(-1) ?? file)
      await pipeline(Readable.from(lines(tape)), process.stdout, { end: false })
    } finally {
      redacted?.dispose()
    }
    return 0
  },
} satisfies Verb

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
  return attempt(() => JSON.parse(body) as unknown, body)
}
