import { mostFrequent } from '@retake/runner/command-line'
import { NODE_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import {
  fromHere,
  type Look,
  printable,
  Progress,
  tableLines,
  linesOf,
  wrap,
} from '@retake/runner/terminal'
import { cliErrors } from '@retake/runner/errors'
import { closeSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { FOUND, Interrupted } from '@retake/runner/command-line'
import { recordAgent, type AgentRecording } from '@retake/runner/record'
import { replayAgent, type Replayed, replayReceipt } from '@retake/runner/agent'
import { RunStore } from '@retake/runner/runs'
import { sourceListOf } from '@retake/runner/sources'
import { viewRun } from '@retake/runner/runs'
import {
  attempt,
  clipText,
  environmentOnTape,
  isDelivery,
  isInitiation,
  type NotCaptured,
  type Tape,
  type TapeEvent,
} from '@retake/tape'
import { notCapturedDetail } from '@retake/runner/agent'
import type { CallSites } from '@retake/engine'
import { sandboxMissing } from '@retake/runner/sandbox'
import { plural } from '@retake/tape/present'

/** Every outside source on two tapes of the same agent, and whether its values changed. */
function findSources(first: Tape, second: Tape, drawSites: CallSites) {
  const before = collect(first)
  const after = collect(second)
  const sources = [...before].map(([name, { values, sites }]) => {
    const drawn = drawSites.filter((each) => each.name === name)
    const drawnAt = drawn.toSorted((a, b) => b.count - a.count).flatMap(({ site }) => site ?? [])
    return {
      /** `Date.now`, `POST host/path`, `tool search`, … */
      name,
      /** How often it was used in the first recording. */
      count: values.length,
      /** True if the two recordings got different values. */
      changed: JSON.stringify(values) !== JSON.stringify(after.get(name)?.values),
      /** Locations in the agent's code, most frequent first. */
      sites: mostFrequent([...sites, ...drawnAt]),
    }
  })
  const order = orderOfDeliveries(first)
  if (order.length > 1) {
    const changed = order.join() !== orderOfDeliveries(second).join()
    sources.push({ name: 'order of completions', count: order.length, changed, sites: [] })
  }
  return sources
}

interface Collected {
  readonly values: unknown[]
  readonly sites: string[]
}

function collect(tape: Tape): Map<string, Collected> {
  const found = new Map<string, Collected>()
  const names = new Map<number, string>()
  const at = (name: string): Collected => {
    const known = found.get(name) ?? { values: [], sites: [] }
    found.set(name, known)
    return known
  }
  for (const event of tape.events()) {
    const name = sourceName(event)
    if (event.type === 'draw') at(event.kind).values.push(event.value)
    else if (name !== undefined) {
      names.set(event.seq, name)
      const { values, sites } = at(name)
      values.push('')
      if ('site' in event && event.site !== undefined) sites.push(event.site)
    } else if (isDelivery(event)) {
      const { values } = found.get(names.get(event.op) ?? '') ?? { values: [] }
      // It does not matter here which of several concurrent calls an answer belongs to.
      if (values.length > 0)
        values[values.length - 1] += Buffer.from(tape.body(event.seq)).toString('latin1')
    }
  }
  return found
}

function sourceName(event: TapeEvent): string | undefined {
  if (!isInitiation(event)) return undefined
  switch (event.type) {
    case 'request':
      return `${event.method} ${event.url.replace(/^https?:\/\//, '').replace(/[?#].*/, '')}`
    case 'call':
      return event.kind === 'tool' ? `tool ${event.name}` : event.name
    case 'timer':
      return event.kind
    case 'work':
      return event.name
    case 'socket':
      return `connection to ${event.path ?? `${event.host}:${event.port}`}`
  }
}

/** Order of answers, each identified by the order in which its operation started. */
function orderOfDeliveries(tape: Tape): number[] {
  const started = new Map<number, number>()
  const order: number[] = []
  for (const event of tape.events()) {
    if (isDelivery(event)) {
      const position = started.get(event.op)
      if (position !== undefined && order.at(-1) !== position) order.push(position)
    } else if (sourceName(event) !== undefined) started.set(event.seq, started.size)
  }
  return order
}

const NOTHING_CHANGED = ['The code is the same, so something is not captured: see above.']

interface Diagnosis {
  readonly first: AgentRecording
  readonly complaint: string
  readonly tape: Tape
  readonly sources: ReturnType<typeof findSources>
  readonly notCaptured: readonly NotCaptured[]
  readonly replayed: Replayed
  /** Why guarded tools cannot be sandboxed here; undefined if they can. */
  readonly noSandbox: string | undefined
}

/** Columns dropped on a narrow terminal, in this order. */
const SPARE = [1, 2]

function diagnosisLines(
  { first, complaint, tape, sources, notCaptured, replayed, noSandbox }: Diagnosis,
  look: Look,
): string[] {
  const { paint, width } = look
  const thrown = thrownBy(tape)
  const rows = sources.map(({ name, count, changed, sites }) => [
    clipText(name, 28),
    String(count),
    changed ? 'yes' : 'no',
    mainLocation(sites),
  ])
  const header = ['source', 'times', 'changes', 'where'].map((cell) => paint('dim', cell))
  return linesOf(
    first.code !== 0 && [
      `${paint('yellow', 'note')} the agent ended with exit code ${first.code}`,
      ...(thrown === undefined
        ? lastLines(complaint, 12).map((line) => `  ${printable(line)}`)
        : wrap(thrown, width - 2).map((line) => `  ${line}`)),
      '',
    ],
    `${paint('green', 'captured')}: on replay the agent gets the recorded value`,
    ...(rows.length === 0
      ? ['  nothing: the agent touches nothing outside']
      : tableLines([header, ...rows], width - 2, SPARE).map((line) => `  ${line}`)),
    '',
    ...(notCaptured.length === 0
      ? [
          `${paint('green', 'not captured')}: nothing found${thrown === undefined ? '' : ' before the exception'}`,
        ]
      : [
          `${paint('red', 'not captured')}: ${plural(notCaptured.length, 'finding')}`,
          ...notCaptured.flatMap((each) => notCapturedDetail(each, width)),
        ]),
    '',
    'replay of the first run',
    ...replayReceipt(tape, replayed, { paint, width: width - 2 }, NOTHING_CHANGED).map((line) =>
      line === '' ? '' : `  ${line}`,
    ),
    '',
    ...sandboxLines(noSandbox, look),
  )
}

/** Only informs: the agent's guards, if any, decide what to do without a sandbox. */
const sandboxLines = (missing: string | undefined, { paint }: Look): string[] =>
  missing === undefined
    ? [`${paint('green', 'sandbox')}: works, for programs and modules of guarded tools`]
    : [
        `${paint('yellow', 'sandbox')}: missing, ${missing}`,
        process.platform === 'linux'
          ? '  Install bubblewrap: apt install bubblewrap, dnf install bubblewrap or apk add bubblewrap.'
          : '  Run guarded tools that need one on Linux, or in a container.',
      ]

/** The exception that ended the run: its name and message. */
function thrownBy(tape: Tape): string | undefined {
  const { error } = viewRun(tape).exit ?? {}
  return error && printable(error.text ?? `${error.name}: ${error.message}`)
}

/**
 * Variables that were not set and probably made the run throw: the exception names them, or the
 * agent's own code read them and did nothing more before the exception.
 */
function missingVariables(tape: Tape): string[] {
  const thrown = thrownBy(tape)
  if (thrown === undefined) return []
  const lastStart = [...tape.events()].findLast(isInitiation)?.seq ?? 0
  const before = environmentOnTape(tape, lastStart)
  const { cwd = '.' } = tape.details
  const texts = Object.keys(sourceListOf(tape)?.files ?? {}).map((file) =>
    attempt(() => readFileSync(path.resolve(cwd, file), 'utf8'), ''),
  )
  return [...environmentOnTape(tape).values()].flatMap(({ name, value }) => {
    const isLast = !before.has(name) && texts.some((text) => text.includes(name))
    return value === null && (isLast || thrown.includes(name)) ? [name] : []
  })
}

/** The most frequent location as `file:line`, and the number of others. */
function mainLocation(sites: readonly string[]): string {
  const unique = [...new Set(sites.map((site) => fromHere(site).replace(/:\d+$/, '')))]
  const [first, ...others] = unique
  if (first === undefined) return ''
  // Cuts the start of long paths, because the line matters.
  const shown = first.length > SITE_MAX ? `…${first.slice(1 - SITE_MAX)}` : first
  return shown + (others.length > 0 ? ` +${others.length}` : '')
}

const SITE_MAX = 26

/** The end of a text, which usually explains a failure. */
function lastLines(text: string, count: number): string[] {
  const lines = text.trimEnd().split('\n')
  const tail = lines.slice(-count)
  if (tail.length === lines.length) return text.trim() === '' ? [] : tail
  return ['…', ...tail]
}

export default {
  arguments: '<file> [arguments of the agent...]',
  description: `Runs the agent twice, live, and compares the two recordings. Then replays the first
to prove that nothing was missed. SQLite databases are copied first, and the agent works on the
copies. Exit code 3 if something is not captured or the replay differs. The recordings are deleted.
The last line says whether guarded tools can be sandboxed here.

Works for JavaScript and TypeScript. To check a program in another language, record it with
\`retake record --strict -- python agent.py\`, then replay it.`,
  options: { ...NODE_OPTION, '--json': 'print everything as JSON' },
  examples: ['retake doctor agent.ts', 'retake doctor agent.mjs --order 1182'],
  agentFollows: true,
  async run(options, [entry = '', ...args]) {
    if (entry === '--')
      throw usageError(
        'Only JavaScript and TypeScript programs can be examined.',
        'For a command, `retake record --strict -- …` names what was not captured, and `retake replay last` what differs.',
      )
    using temporary = temporaryFolder('doctor')
    const { path: folder } = temporary
    using progress = new Progress()
    const said = path.join(folder, 'stderr.txt')
    const stderr = openSync(said, 'a')
    const store = new RunStore(folder)
    const run = async (databases: string): Promise<AgentRecording> => {
      const recording = await recordAgent({
        store,
        entry,
        args,
        nodeArgs: options.texts('node-arg'),
        stdio: ['ignore', 'ignore', stderr],
        withSites: true,
        databases: path.join(folder, databases),
      })
      if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
      return recording
    }
    progress.say('first run')
    const first = await run('first')
    const missing = missingVariables(openTape(first.tape))
    if (missing.length > 0)
      throw cliErrors.AGENT_VARIABLE_MISSING(entry, thrownBy(openTape(first.tape)) ?? '', missing)
    const complaint = first.code === 0 ? '' : readFileSync(said, 'utf8')
    progress.say('second run')
    const second = await run('second')
    closeSync(stderr)
    progress.say('replay')
    const tape = openTape(first.tape)
    const diagnosis: Diagnosis = {
      first,
      complaint,
      tape,
      sources: findSources(tape, openTape(second.tape), first.sites ?? []),
      notCaptured: viewRun(tape).notCaptured,
      replayed: await replayAgent(tape, { stdio: 'ignore' }),
      noSandbox: sandboxMissing(),
    }
    progress.stop()
    const { sources, notCaptured, replayed, noSandbox } = diagnosis
    const identical = replayed.divergences.length === 0
    const sandbox = { works: noSandbox === undefined, why: noSandbox }
    options.print(
      { captured: sources, notCaptured, identical, replayed, sandbox },
      (look) => diagnosisLines(diagnosis, look),
      2,
    )
    return notCaptured.length > 0 || !identical ? FOUND : 0
  },
} satisfies Verb
