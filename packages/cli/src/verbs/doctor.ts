import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { BoundaryNote, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { Interrupted } from '../agent-process.js'
import { wrongUsage } from '../errors.js'
import { FOUND } from '../exit-codes.js'
import { plural } from '../facts.js'
import { fromHere } from '../from-here.js'
import { findSources } from '../nondeterminism.js'
import type { Source } from '../nondeterminism.js'
import { Progress } from '../progress.js'
import { recordAgent } from '../record-agent.js'
import type { Recording } from '../record-agent.js'
import { replayAgent } from '../replay-agent.js'
import type { Replayed } from '../replay-agent.js'
import { replayReceipt } from '../replay-receipt.js'
import { RunStore } from '../run-store.js'
import { table } from '../table.js'
import { painter, widthOf } from '../terminal.js'
import type { Look } from '../terminal.js'
import { flag, texts } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'
import { wrap } from '../wrap.js'

export const doctor: Verb = {
  name: 'doctor',
  summary: 'Find every source of nondeterminism in an agent, with file and line',
  usage: '[options] <file> [arguments of the agent…]',
  help: `Runs the agent twice, for real, and compares the two recordings; then replays
the first to prove that nothing was missed. Exit code 3 when something is not
captured, or when the replay differs. The recordings are thrown away.

Options, before the file:
  --node-arg=<flag>  a flag for Node itself; may be repeated
  --json             everything as JSON

Examples:
  retake doctor agent.ts
  retake doctor agent.mjs --order 1182`,
  options: { 'node-arg': { type: 'string', multiple: true } },
  agentFollows: true,
  async run(values, [entry, ...args]) {
    if (entry === undefined)
      throw wrongUsage('doctor', 'No file was named.', 'Retake needs the file to run.')
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-doctor-'))
    const progress = new Progress('')
    try {
      const store = new RunStore(folder)
      const run = async (): Promise<Recording> => {
        const recording = await recordAgent({
          store,
          entry,
          args,
          nodeArgs: texts(values, 'node-arg'),
          stdio: 'ignore',
          withSites: true,
        })
        if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
        return recording
      }
      progress.say('first run')
      const first = await run()
      progress.say('second run')
      const second = await run()
      progress.say('replay')
      const tape = openTape(first.tape)
      const diagnosis: Diagnosis = {
        first,
        tape,
        sources: findSources(tape, openTape(second.tape), first.sites ?? []),
        findings: viewRun(tape).boundaryNotes,
        replayed: await replayAgent(tape, { nodeArgs: texts(values, 'node-arg'), stdio: 'ignore' }),
      }
      progress.stop()
      if (flag(values, 'json')) console.log(JSON.stringify(diagnosisJson(diagnosis), undefined, 2))
      else
        console.log(
          lines(diagnosis, { paint: painter(process.stdout), width: widthOf(process.stdout) }).join(
            '\n',
          ),
        )
      return diagnosis.findings.length > 0 || diagnosis.replayed.divergences.length > 0 ? FOUND : 0
    } finally {
      progress.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Diagnosis {
  readonly first: Recording
  readonly tape: Tape
  readonly sources: readonly Source[]
  readonly findings: readonly BoundaryNote[]
  readonly replayed: Replayed
}

const diagnosisJson = ({ sources, findings, replayed }: Diagnosis): unknown => ({
  captured: sources,
  findings,
  identical: replayed.divergences.length === 0,
  replayed,
})

function lines({ first, tape, sources, findings, replayed }: Diagnosis, look: Look): string[] {
  const { paint, width } = look
  const rows = sources.map(({ name, count, changed, sites }) => [
    short(name, 34),
    String(count),
    changed ? 'yes' : 'no',
    where(sites),
  ])
  const header = ['source', 'times', 'changes', 'where'].map((cell) => paint('dim', cell))
  return [
    ...(first.code === 0
      ? []
      : [`${paint('yellow', 'note')} the agent ended with exit code ${first.code}`, '']),
    `${paint('green', 'captured')}: on replay the agent gets the recorded value`,
    ...(rows.length === 0
      ? ['  nothing: the agent touches nothing outside']
      : table([header, ...rows], width - 2).map((line) => `  ${line}`)),
    '',
    ...(findings.length === 0
      ? [`${paint('green', 'not captured')}: nothing found`]
      : [
          `${paint('red', 'not captured')}: ${plural(findings.length, 'finding')}`,
          ...findings.flatMap((note) => noteLines(note, width)),
        ]),
    '',
    'replay of the first run',
    ...replayReceipt(tape, replayed, { paint, width: width - 2 }).map((line) =>
      line === '' ? '' : `  ${line}`,
    ),
  ]
}

function noteLines({ name, site, text }: BoundaryNote, width: number): string[] {
  return [
    `  ${name}  ${site === undefined ? '(in a library)' : fromHere(site)}`,
    ...wrap(text ?? 'wrap the call in tool() to make it replayable', width - 4).map(
      (line) => `    ${line}`,
    ),
  ]
}

function where(sites: readonly string[]): string {
  const [first, ...others] = sites
  if (first === undefined) return ''
  return fromHere(first) + (others.length > 0 ? ` and ${others.length} more` : '')
}

const short = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text
