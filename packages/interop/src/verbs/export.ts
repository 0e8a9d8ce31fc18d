import { findingsPath } from '@retake/runner/runs'
import {
  ALLOW_SECRETS_OPTION,
  DIR_OPTION,
  type Options,
  REDACT_OPTION,
  usageError,
  type Verb,
} from '@retake/runner/command-line'
import { createWriteStream, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type BlameFindings, eventLines, parseJson, type Tape, attempt } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { bytesText, plural } from '@retake/tape/present'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { cliErrors } from '@retake/runner/errors'
import { version } from '@retake/runner/package-root'
import { capsuleTapes, packCapsule } from '../capsule/pack-capsule.js'
import { chromeTraceOf } from '../portable/chrome-trace.js'
import { harOfRun } from '../portable/har.js'
import { encodeSpans, type OtlpEncoding } from '../portable/otlp-encode.js'
import { sendSpans, tracesUrl } from '../portable/send-spans.js'
import { type Conventions, spansOfRun } from '../portable/spans-of-run.js'
import type { Span } from '../portable/span.js'
import { givenPatterns } from '@retake/runner/config'
import { refuseSecrets } from '@retake/runner/privacy'
import { redactRun, tapeLineage } from '@retake/runner/privacy'
import { viewRun } from '@retake/runner/runs'
import { fromHere, printableLine } from '@retake/runner/terminal'

const FORMATS = ['jsonl', 'otlp-json', 'otlp-protobuf', 'chrome', 'har'] as const
type ExportFormat = (typeof FORMATS)[number]
const CONVENTIONS: readonly Conventions[] = ['both', 'gen_ai', 'openinference']

export default {
  arguments: '<run>',
  description: `\`jsonl\` has every event of the tape, one per line, for grep and jq. \`otlp-json\`
and \`otlp-protobuf\` are OpenTelemetry spans with gen_ai.* and OpenInference attributes; protobuf
is the default with --endpoint. \`chrome\` is for ui.perfetto.dev, \`har\` for tools that read HTTP
archives.

Spans contain no messages, arguments or results unless you add --content. Steps of a branch that
were served from its parent are marked as replayed, so that they do not look like new calls.

With --capsule, writes the run, the runs that it continues, and its recorded code into one file, with
which \`retake import\` makes it replayable on another machine. Secrets in the code are masked.`,
  options: {
    '--format <format>': FORMATS.join(', '),
    '--jsonl':
      'the same as --format jsonl; `body` is JSON if the body is JSON, a string if it is text, otherwise { "base64": … }',
    '--capsule <file>': 'write a capsule, with which others can replay the run',
    '-o, --out <file>': 'file to write (default: stdout)',
    '--endpoint <url>': 'send spans to this OTLP/HTTP receiver; /v1/traces is added to a bare host',
    '--header <name=value>...': 'header for the receiver, such as a key; repeatable',
    '--timeout <seconds>': 'how long to retry if the receiver is down or busy (default: 60)',
    '--attributes <names>': `attributes of spans: ${CONVENTIONS.join(', ')} (default: both)`,
    '--content': 'include messages, arguments and results in spans',
    ...REDACT_OPTION,
    ...ALLOW_SECRETS_OPTION,
    ...DIR_OPTION,
  },
  examples: [
    `retake export last --jsonl | jq 'select(.type == "request") | .body.messages'`,
    'retake export last --format otlp-json --content -o run.json',
    'retake export last --endpoint http://localhost:4318',
    'retake export last --format chrome -o run.trace.json',
    'retake export last --capsule refund.retake',
  ],
  async run(options, [name = '']) {
    const capsule = options.text('capsule')
    if (capsule !== undefined) return exportCapsule(options, name, capsule)
    const isSent = options.has('endpoint')
    const named = options.choice('format', FORMATS) ?? (options.flag('jsonl') ? 'jsonl' : undefined)
    const format = named ?? (isSent ? 'otlp-protobuf' : options.json ? 'jsonl' : undefined)
    if (format === undefined)
      throw usageError('Missing option --format.', `It takes one of ${FORMATS.join(', ')}.`)
    if (isSent && !format.startsWith('otlp'))
      throw usageError(
        `--endpoint does not take ${format}.`,
        'It takes otlp-json or otlp-protobuf.',
      )

    const spanOptions = {
      conventions: options.choice('attributes', CONVENTIONS) ?? 'both',
      content: options.flag('content'),
      version: version(),
    }
    const file = options.store.find(name)
    const patterns = givenPatterns(options.texts('redact'))
    using temporary = temporaryFolder('export')
    const redacted = patterns.length > 0 ? redactRun(file, patterns, temporary.path) : undefined
    if (!options.flag('allow-secrets')) refuseSecrets(redacted?.files ?? tapeLineage(file), name)
    const tape = openTape(redacted?.files.at(-1) ?? file)
    const spans = (): Generator<Span> =>
      spansOfRun(tape, viewRun(tape), {
        ...spanOptions,
        findings: attempt(
          () =>
            JSON.parse(readFileSync(findingsPath(file, tape.run.id), 'utf8')) as {
              findings: BlameFindings
            },
        )?.findings,
      })
    if (options.has('endpoint')) await send(spans(), format, options, tape.run.id)
    else await write(partsOf(format, tape, spans), options, tape.run.id)
    return 0
  },
} satisfies Verb

async function exportCapsule(options: Options, name: string, out: string): Promise<number> {
  const other = ['format', 'jsonl', 'out', 'endpoint', 'content', 'attributes', 'redact'].find(
    (each) => options.has(each),
  )
  if (other !== undefined)
    throw usageError(
      `--capsule cannot be combined with --${other}.`,
      'A capsule has whole tapes. `retake scrub` makes a copy of a run without personal data.',
    )
  const file = options.store.find(name)
  const allowsSecrets = options.flag('allow-secrets')
  if (!allowsSecrets) refuseSecrets([...capsuleTapes(file).values()], name)
  const packed = await packCapsule(file, out, { allowsSecrets })
  options.print({ ...packed, file: out }, ({ paint }) => [
    `${paint('green', 'wrote')} ${fromHere(out)} · ${plural(packed.tapes, 'tape')} · ${plural(packed.sources, 'source file')} · ${bytesText(packed.bytes)}`,
    ...packed.masked.map((at) => `${paint('yellow', 'masked')} ${printableLine(at)}`),
  ])
  return 0
}

async function send(
  spans: Iterable<Span>,
  format: ExportFormat,
  options: Options,
  run: string,
): Promise<void> {
  const given = options.text('endpoint') ?? ''
  if (!/^https?:/.test(given) || !URL.canParse(given))
    throw usageError(`"${given}" is not a valid URL.`, 'For example: http://localhost:4318')
  const url = tracesUrl(given)
  const { sent, rejected, message } = await sendSpans(spans, url, {
    encoding: encodingOf(format),
    headers: Object.fromEntries(
      options.texts('header').map((given) => {
        const [, name, value] = /^([\w-]+)\s*[=:]\s*(.*)$/.exec(given) ?? []
        if (name !== undefined && value !== undefined) return [name, value]
        throw usageError(`"${given}" is not a header.`, 'Write it as --header name=value.')
      }),
    ),
    timeoutMs: options.timeoutMs(60),
    onRetry: (why) => process.stderr.write(`trying again: ${printableLine(why)}\n`),
  })
  const to = `${url.origin}${url.pathname}`
  if (rejected > 0) throw cliErrors.EXPORT_REJECTED(to, rejected, printableLine(message ?? ''))
  options.print({ run, sent, to }, ({ paint }) => [
    `${paint('green', 'sent')} ${plural(sent, 'span')} of ${run} to ${to}`,
  ])
}

const encodingOf = (format: ExportFormat): OtlpEncoding =>
  format === 'otlp-json' ? 'json' : 'protobuf'

/** Maximum number of spans per OTLP request. Longer runs are several requests in a row. */
const REQUEST_SPANS = 5000

function partsOf(
  format: ExportFormat,
  tape: Tape,
  spans: () => Generator<Span>,
): Iterable<string> | AsyncIterable<Uint8Array | string> {
  if (format === 'jsonl') return lines(tape)
  if (format === 'har') return harOfRun(tape, viewRun(tape), version())
  if (format === 'chrome') return chromeTraceOf(tape, viewRun(tape))
  return encoded(spans(), encodingOf(format))
}

async function* encoded(
  spans: Iterable<Span>,
  encoding: OtlpEncoding,
): AsyncGenerator<Uint8Array | string> {
  let batch: Span[] = []
  const flush = async function* (): AsyncGenerator<Uint8Array | string> {
    if (batch.length === 0) return
    yield await encodeSpans(batch, encoding)
    if (encoding === 'json') yield '\n'
    batch = []
  }
  for (const span of spans) {
    batch.push(span)
    if (batch.length === REQUEST_SPANS) yield* flush()
  }
  yield* flush()
}

async function write(
  parts: Iterable<string> | AsyncIterable<Uint8Array | string>,
  options: Options,
  run: string,
): Promise<void> {
  const out = options.text('out')
  if (out === undefined) {
    await pipeline(Readable.from(parts), process.stdout, { end: false })
    return
  }
  try {
    await pipeline(Readable.from(parts), createWriteStream(out))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw cliErrors.FILE_NOT_WRITABLE(fromHere(out), error)
  }
  options.print({ run, file: out }, ({ paint }) => [`${paint('green', 'wrote')} ${fromHere(out)}`])
}

function* lines(tape: Tape): Generator<string> {
  for (const event of eventLines(tape)) {
    const { type, body } = event
    const isTraffic = type === 'request' || type === 'deliver'
    // Parses JSON bodies, so that jq can look into them.
    const isJson = isTraffic && typeof body === 'string' && /^\s*[[{]/.test(body)
    yield `${JSON.stringify(isJson ? { ...event, body: parseJson(body) ?? body } : event)}\n`
  }
}
