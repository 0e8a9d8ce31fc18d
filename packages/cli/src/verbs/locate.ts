import { DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import { cutTo, fromHere, type Look, printable, wrap, linesOf } from '@retake/runner/terminal'
import { locate as locateText, type Located, type Occurrence } from '@retake/tape/locate'
import { cliErrors } from '@retake/runner/errors'
import { changedCodeText, plural } from '@retake/tape/present'
import { changedSources } from '@retake/runner/agent'
import { recordedLine } from '@retake/runner/debug'
import { viewRun } from '@retake/runner/runs'

/** Used if the agent itself sends or writes the value first. */
const OWN =
  "It was not part of any input when the agent first used it: it comes from the agent's own code."

/** Number of occurrences shown without --all. */
const OCCURRENCES_MAX = 40

interface LocateLook extends Look {
  /** True if occurrences that only repeat the conversation are shown, too. */
  readonly all: boolean
  /** The recorded line of a location in a file that has changed since. */
  readonly recordedLine: (site: string) => string | undefined
}

function locateLines(
  run: string,
  { text, occurrences, origins }: Located,
  look: LocateLook,
): string[] {
  const { paint, width, all } = look
  const described = all ? occurrences : occurrences.filter(({ carried }) => carried !== true)
  const from = described.slice(0, origins)
  const flow = described.slice(origins)
  const shown = all ? flow : flow.slice(0, OCCURRENCES_MAX)
  const steps = [
    ...new Set(occurrences.filter(({ carried }) => carried).map(({ step }) => step ?? '')),
  ]
  const named = steps.length > 12 ? [...steps.slice(0, 10), '…', ...steps.slice(-1)] : steps
  const history = `Sent again as history of the conversation with ${steps.length === 1 ? 'step' : 'steps'} ${named.join(', ')}`
  const title = `“${oneLine(text)}” occurs in ${plural(occurrences.length, 'location')} of ${run}`
  return linesOf(
    paint('bold', cutTo(title, width)),
    '',
    ...(from.length > 0
      ? [paint('bold', 'Came from'), ...from.flatMap((each) => occurrenceLines(each, look))]
      : wrap(OWN, width)),
    shown.length > 0 && [
      '',
      paint('bold', 'Went to'),
      ...shown.flatMap((each) => occurrenceLines(each, look)),
    ],
    flow.length > shown.length && [
      '',
      `… ${plural(flow.length - shown.length, 'more location')} (--all shows them)`,
    ],
    steps.length > 0 && !all && ['', cutTo(history, width), '(--all shows them)'],
  )
}

function occurrenceLines(occurrence: Occurrence, look: LocateLook): string[] {
  const { paint, width, recordedLine } = look
  const { direction, seq, step, after, site, via, count } = occurrence
  const arrow = direction === 'in' ? paint('green', '←') : paint('yellow', '→')
  const where =
    step === undefined ? (after === undefined ? '' : ` · after step ${after}`) : ` · step ${step}`
  const indent = ' '.repeat(4)
  const line = (text: string): string => indent + cutTo(text, width - indent.length)
  const source = site === undefined ? undefined : recordedLine(site)?.trim()
  return [
    `${arrow} ${cutTo(printable(describeOccurrence(occurrence)), width - 2)}`,
    line(`event ${seq}${where}${locationIn(occurrence)}${count > 1 ? ` · ${count} times` : ''}`),
    ...(via === undefined ? [] : [line(`the result of tool ${via.tool}, step ${via.step}`)]),
    indent + excerptLine(occurrence, { paint, width: width - indent.length }),
    ...(site === undefined ? [] : [indent + paint('cyan', cutTo(fromHere(site), width - 4))]),
    ...(source === undefined ? [] : [line(`  ${printable(source)}`)]),
  ]
}

const locationIn = ({ path, offset }: Occurrence): string =>
  path !== undefined ? ` · ${printable(path)}` : offset === undefined ? '' : ` · byte ${offset}`

/** Words before the name of an occurrence; a pair if the direction matters. */
const WORDS: Readonly<Record<Occurrence['source'], string | readonly [into: string, out: string]>> =
  {
    environment: 'variable ',
    arguments: '',
    draw: 'drawn from ',
    file: ['read from file ', 'handed to file '],
    input: 'read from ',
    tool: ['result of tool ', 'arguments of tool '],
    mcp: ['received in ', 'sent in '],
    process: ['output of process ', 'command of process '],
    worker: ['message from worker ', 'started worker '],
    dns: ['DNS answer ', 'DNS question '],
    database: ['read by statement ', 'handed to statement '],
    connection: 'received from ',
    request: 'sent to ',
    answer: 'answer of ',
    output: 'printed to ',
    mark: 'mark ',
    outcome: '',
  }

function describeOccurrence({ source, direction, name, offset }: Occurrence): string {
  if (source === 'outcome') return `${name} of the run`
  const isWritten = source === 'process' && direction === 'out' && offset !== undefined
  const known = isWritten ? 'written to process ' : WORDS[source]
  const words = typeof known === 'string' ? known : known[direction === 'in' ? 0 : 1]
  return words + (source === 'file' ? fromHere(name.replace(/^file:\/\//, '')) : name)
}

/** The match, with as much context as fits. A string is quoted, so that its type shows. */
function excerptLine(
  { excerpt: { before, match, after }, inString }: Occurrence,
  { paint, width }: Look,
): string {
  const found = cutTo(oneLine(match), width)
  const room = Math.max(0, width - found.length)
  const lead = (inString && !before.startsWith('…') ? '"' : '') + oneLine(before)
  const rest = oneLine(after) + (inString && !after.endsWith('…') ? '"' : '')
  const shownBefore =
    lead.length > room / 2 ? `…${lead.slice(lead.length - Math.floor(room / 2) + 1)}` : lead
  return `${paint('dim', shownBefore)}${paint('bold', found)}${paint('dim', cutTo(rest, room - shownBefore.length))}`
}

const oneLine = (text: string): string =>
  printable(text.replaceAll('\r', '').replaceAll('\n', '⏎').replaceAll('\t', ' '))

export default {
  arguments: '<run> <text>',
  description: `Searches every event of a run. A value comes in through answers (including
streams), files, tool results, random values and the environment. It goes out through requests,
tool arguments, files and output. Escapes are ignored, and a number only matches as a whole number.
Exit code 1 if the value does not occur.`,
  options: {
    '--all': 'print every occurrence, also in repeated conversation history',
    ...DIR_OPTION,
  },
  examples: [
    'retake locate last "60 days"',
    'retake locate last 249',
    `retake locate last call_7f3a --json | jq '.occurrences[0]'`,
    'retake locate last -- --starts-with-a-dash',
  ],
  run(options, [name = '', wanted = '']) {
    if (wanted.trim() === '') throw usageError('The text is empty.', 'It would match everywhere.')
    const tape = options.openRun(name)
    const found = locateText(tape, viewRun(tape), wanted)
    if (found.occurrences.length === 0)
      throw cliErrors.TEXT_NOT_FOUND(tape.run.id, wanted, found.nearMisses)
    const sites = new Set(found.occurrences.flatMap(({ site }) => site ?? []))
    const sources = new Map([...sites].map((site) => [site, recordedLine(tape, site)]))
    if ([...sources.values()].some((line) => line !== undefined))
      process.stderr.write(`note  ${changedCodeText(changedSources(tape).length)}\n`)
    options.print(
      { run: tape.run.id, path: tape.path, ...found },
      (look) =>
        locateLines(tape.run.id, found, {
          ...look,
          all: options.flag('all'),
          recordedLine: (site) => sources.get(site),
        }),
      2,
    )
    if (tape.status === 'truncated')
      process.stderr.write('The recording was cut off; what came after is not on the tape.\n')
    return 0
  },
} satisfies Verb
