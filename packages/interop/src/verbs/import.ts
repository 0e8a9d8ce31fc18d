import { Deadline } from '@retake/tape/format'
import { statSync } from 'node:fs'
import path from 'node:path'
import { reason, RetakeError } from '@retake/engine/errors'
import { plural } from '@retake/tape/present'
import { nextSignal } from '@retake/runner/command-line'
import { DIR_OPTION, type Options, PORT, usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { shellWord } from '@retake/runner/agent'
import { isCapsule } from '../capsule/capsule-file.js'
import { unpackCapsule } from '../capsule/unpack-capsule.js'
import { IMPORT_FORMATS, type ImportFormat, readChunks, readSpans } from '../portable/read-spans.js'
import { receiveSpans } from '../portable/receive-spans.js'
import { describeProblems, type ImportedTrace, SpanSpool } from '../portable/span-spool.js'
import {
  fromHere,
  type Paint,
  painter,
  printableLine,
  printJson,
  Progress,
} from '@retake/runner/terminal'

/** The port of OTLP over HTTP. */
const OTLP_PORT = 4318
/** A trace is written after this much time without a new span. */
const QUIET_MS = 2000
const LANGFUSE_URL = 'https://cloud.langfuse.com'
/** Time limit of a download. */
const DOWNLOAD_MS = 60_000
/** More runs are only counted. */
const LISTED_MAX = 20

export default {
  arguments: '[file...]',
  description: `Turns each trace into a run that works with list, show, diff, report, ui and test.
A trace does not contain what a program needs to run again, so replay, fork and rerun refuse it.

The format is detected unless you name it: OTLP as JSON, lines of JSON or protobuf, OpenInference
spans (Phoenix), Langfuse traces and observations, LangSmith runs, TRAIL traces, agentrr logs, data
sets of \`tracefork export --openinference\`, and HTTP archives. Files may be compressed with gzip.
Unreadable parts are counted and left out. Keys are masked by their shape, and credentials in
headers are removed.

With --from langfuse --trace <id>, downloads the trace from the public API of Langfuse, with
LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL (default: ${LANGFUSE_URL}).

A capsule (\`retake export --capsule\`) is a run with its code: its files are written into the current
folder, and it can be replayed there once you trust it. Existing files are never changed.

With --listen, receives OTLP over HTTP on this machine until Ctrl-C.`,
  options: {
    '--from <format>': `format of the files: ${IMPORT_FORMATS.join(', ')} (default: detected)`,
    '--trace <id>...': 'download this trace; needs --from langfuse; repeatable',
    '--secret <file:line=VARIABLE>...':
      'for a capsule: variable with the value of a masked secret; repeatable',
    '--listen [port]': `receive OTLP over HTTP (default port: ${OTLP_PORT})`,
    ...DIR_OPTION,
  },
  examples: [
    'retake import traces.json',
    'retake import --from langfuse export.jsonl.gz',
    'retake import --from langfuse --trace 5f0c1d2e',
    'retake import --listen',
    'retake import refund.retake --secret agent.mjs:3=API_KEY',
  ],
  async run(options, files) {
    const [capsule] = files
    if (capsule !== undefined && files.some((file) => isCapsule(file) || CAPSULE_NAME.test(file))) {
      if (files.length > 1)
        throw usageError('A capsule is imported alone.', 'Import one file after the other.')
      return importCapsule(capsule, options)
    }
    if (options.has('secret'))
      throw usageError('--secret needs a capsule.', 'For example: retake import refund.retake.')
    const spool = new SpanSpool(options.store)
    try {
      if (options.has('listen')) return await listen(spool, options, files)
      const traces = options.texts('trace')
      if (traces.length > 0 && options.text('from') !== 'langfuse')
        throw usageError('--trace needs --from langfuse.', 'Other tools are imported from files.')
      if (files.length + traces.length === 0)
        throw usageError('Missing argument <file>.', 'For example: retake import traces.json.')
      const runs: ImportedTrace[] = []
      for (const trace of traces) runs.push(...(await importTrace(trace, spool)))
      for (const file of files) runs.push(...(await importFile(file, spool, options)))
      if (options.json) printJson({ runs, problems: Object.fromEntries(spool.problems) }, 2)
      else {
        const paint = painter(process.stdout)
        const lines = runs.slice(0, LISTED_MAX).map((each) => runLine(each, paint))
        const more = runs.length - LISTED_MAX
        if (more > 0) lines.push(`and ${plural(more, 'more run')}`)
        console.log(lines.join('\n'))
        reportProblems(spool)
      }
      return 0
    } finally {
      spool.dispose()
    }
  },
} satisfies Verb

const CAPSULE_NAME = /\.retake$/

async function importCapsule(file: string, options: Options): Promise<number> {
  const secrets = options.texts('secret').map((text): [string, string] => {
    const [, at = '', name = ''] = /^(.+:\d+)=(\w+)$/.exec(text) ?? []
    const value = process.env[name]
    if (value !== undefined && value !== '') return [at, value]
    throw usageError(
      name === '' ? `"${text}" is not a masked line.` : `The variable ${name} is not set.`,
      'Write it as --secret agent.mjs:3=API_KEY, with the name of a variable that has the value.',
    )
  })
  const unpacked = await unpackCapsule(file, process.cwd(), {
    secrets: new Map(secrets),
    runs: options.text('dir'),
  })
  const { run, outcome, folder, files, masked, replaysIn } = unpacked
  const isPackage = files.some((each) => path.posix.basename(each) === 'package.json')
  const steps = [
    isPackage && 'npm ci',
    folder !== '' && `cd ${shellWord(folder)}`,
    `retake replay ${run}`,
  ]
  options.print(unpacked, ({ paint }) => [
    outcome === 'exists'
      ? `${paint('dim', 'known')} ${run} · was there already`
      : `${paint('green', 'imported')} ${run} · ${plural(files.length, 'source file')}`,
    ...masked.map(
      (at) => `${paint('yellow', 'masked')} ${printableLine(at)} · replace it, or use --secret`,
    ),
    ...(replaysIn === undefined
      ? []
      : [
          `${paint('yellow', 'note')} replays run in the recorded folder ${printableLine(replaysIn)}`,
        ]),
    `read the code, then: ${steps.filter((step) => step !== false).join(' && ')}`,
  ])
  return 0
}

async function importFile(
  file: string,
  spool: SpanSpool,
  options: Options,
): Promise<ImportedTrace[]> {
  const name = fromHere(file) || file
  using progress = new Progress(`reading ${name}`)
  try {
    const { size } = statSync(file)
    if (size === 0) throw cliErrors.NOTHING_IMPORTED(name, 'It is empty.')
    const total = Math.round(size / 1e6)
    const onRead = (bytes: number): void =>
      progress.say(`reading ${name}: ${Math.round(bytes / 1e6)} MB of ${total} MB`)
    return await importChunks(counted(readChunks(file), onRead), spool, {
      name,
      format: options.choice('from', IMPORT_FORMATS),
      source: path.basename(file),
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw cliErrors.IMPORT_UNREADABLE(name, error)
  }
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let read = 0
  for await (const chunk of chunks) {
    yield chunk
    read += chunk.length
    onRead(read)
  }
}

/** Writes a run for each trace in these bytes. */
async function importChunks(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  spool: SpanSpool,
  about: {
    readonly name: string
    readonly format: ImportFormat | undefined
    readonly source: string
  },
): Promise<ImportedTrace[]> {
  const [before, known] = [spool.spans, new Set(spool.traces)]
  const from = await readSpans(chunks, spool, about)
  if (from === undefined && spool.problems.size === 0)
    throw cliErrors.IMPORT_FORMAT_UNKNOWN(about.name, IMPORT_FORMATS.join(', '))
  if (from === undefined || spool.spans === before) {
    const [found = 'no span was found'] = describeProblems(spool.problems)
    throw cliErrors.NOTHING_IMPORTED(about.name, `${found[0]?.toUpperCase()}${found.slice(1)}.`)
  }
  return spool.traces
    .filter((trace) => !known.has(trace))
    .map((trace) => spool.write(trace, { from, source: about.source }))
}

async function importTrace(trace: string, spool: SpanSpool): Promise<ImportedTrace[]> {
  const {
    LANGFUSE_PUBLIC_KEY: user = '',
    LANGFUSE_SECRET_KEY: password = '',
    LANGFUSE_HOST: host = LANGFUSE_URL,
    LANGFUSE_BASE_URL: base = host,
  } = process.env
  if (user === '' || password === '')
    throw usageError(
      'LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are not set.',
      'The API of Langfuse needs both keys of the project.',
    )
  if (!/^https?:/.test(base) || !URL.canParse(base))
    throw usageError(
      `LANGFUSE_BASE_URL "${base}" is not a valid URL.`,
      `For example: ${LANGFUSE_URL}`,
    )
  const url = new URL(`/api/public/traces/${encodeURIComponent(trace)}`, base)
  const bytes = await download(url, Buffer.from(`${user}:${password}`).toString('base64'))
  return importChunks([bytes], spool, {
    name: `trace ${trace}`,
    format: 'langfuse',
    source: url.host,
  })
}

/** Throws `IMPORT_DOWNLOAD_FAILED`. */
async function download(url: URL, credentials: string): Promise<Buffer> {
  using _progress = new Progress(`downloading from ${url.host}`)
  using deadline = new Deadline({ ms: DOWNLOAD_MS })
  try {
    const response = await fetch(url, {
      headers: { authorization: `Basic ${credentials}` },
      signal: deadline.signal,
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.ok) return bytes
    const said = printableLine(bytes.toString().slice(0, 200))
    throw cliErrors.IMPORT_DOWNLOAD_FAILED(url.href, `It answered ${response.status}: ${said}`)
  } catch (error) {
    if (error instanceof RetakeError) throw error
    const { cause } = error as Error
    throw cliErrors.IMPORT_DOWNLOAD_FAILED(
      url.href,
      `It cannot be reached: ${reason(cause ?? error)}.`,
    )
  }
}

function reportProblems({ problems }: SpanSpool): void {
  const note = painter(process.stderr)('yellow', 'note')
  for (const line of describeProblems(problems)) process.stderr.write(`${note} ${line}\n`)
}

const runLine = ({ run, spans, isKnown }: ImportedTrace, paint: Paint): string =>
  isKnown === true
    ? `${paint('dim', 'known')} ${run} · imported before`
    : `${paint('green', 'imported')} ${run} · ${plural(spans, 'span')} · not replayable`

/** Receives spans until a signal arrives. Writes a trace once it has been quiet for a moment. */
async function listen(
  spool: SpanSpool,
  options: Options,
  files: readonly string[],
): Promise<number> {
  if (files.length > 0)
    throw usageError('--listen takes no files.', 'A port follows an equals sign: --listen=4319.')
  const given = options.text('listen') ?? ''
  const port = given === '' ? OTLP_PORT : (options.number('listen', PORT) ?? OTLP_PORT)
  const paint = painter(process.stdout)
  const waiting = new Map<string, NodeJS.Timeout>()
  const write = (trace: string): void => {
    clearTimeout(waiting.get(trace))
    waiting.delete(trace)
    const run = spool.write(trace, { from: 'otlp', source: 'received' })
    if (options.json) printJson(run)
    else console.log(printableLine(runLine(run, paint)))
  }
  const stopped = nextSignal()
  const receiver = await receiveSpans(port, spool, (traces) => {
    for (const trace of traces) {
      clearTimeout(waiting.get(trace))
      waiting.set(
        trace,
        setTimeout(() => write(trace), QUIET_MS),
      )
    }
  }).catch((error: unknown) => {
    throw cliErrors.PORT_NOT_FREE(port, error)
  })
  process.stderr.write(
    `receiving OTLP at ${receiver.url}/v1/traces; stop with Ctrl-C\n` +
      `  OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.url} node agent.js\n`,
  )
  await stopped
  await receiver.stop()
  for (const trace of waiting.keys()) write(trace)
  reportProblems(spool)
  return 0
}
