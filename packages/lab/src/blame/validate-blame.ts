import { mapConcurrent, type BlameFindings, type Tape } from '@retake/tape'
import { type Look, Progress, tableLines } from '@retake/runner/terminal'
import { pathToFileURL } from 'node:url'
import path from 'node:path'
import { causeIndexes } from '../search/make-findings.js'

import { wilson } from '../search/stats.js'
import { openTape } from '@retake/tape/node'
import { duration, intervalText, namesCauses } from '@retake/tape/present'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Interruption, type Options } from '@retake/runner/command-line'
import { copyShippedToTemporary, type ShippedFolder, recordShipped } from '@retake/runner/demo'
import { makeOracle } from '@retake/runner/oracle'
import type { LocalForkPool } from './forks.js'
import { planInterventions } from './interventions.js'
import { processOf, searchedSteps } from './process-tree.js'
import { searchRun } from './search-run.js'
import { makePool } from './read-search.js'
import { project } from '@retake/runner/config'

const FILES = [
  'agent.mjs',
  'faults.mjs',
  'simulator.mjs',
  'desk.mjs',
  'desk-faults.mjs',
  'desk-simulator.mjs',
]

/** A fault planted in a chain of tools shipped with the package. */
interface Planted {
  readonly steps: number
  readonly truth: readonly number[]
  readonly echoes?: readonly number[]
  readonly backUps?: readonly (readonly number[])[]
}

/** Faults of an agent with a model, and the model's answers while it is recorded. */
interface Desk {
  readonly DESK_FAULTS: Readonly<Record<string, { readonly expects: readonly string[] }>>
  modelAnswer(name: string, request: unknown, isRecorded: boolean): unknown
}

type Validated = Awaited<ReturnType<typeof validateRun>>

/** A planted failure: how to record it, and which findings are correct. */
interface Fault {
  readonly name: string
  readonly expects: readonly string[]
  readonly simulator: string
  record(): Promise<string>
}

/**
 * Records small agents with known faults, blames them through real forks, and compares. In the
 * controls nothing is to blame, so any named step is wrong.
 */
async function validateBlame(
  pool: LocalForkPool,
  signal: AbortSignal,
  onFault: () => void,
): Promise<Validated[]> {
  const folder = copyShippedToTemporary('validate', FILES)
  const imported = async (file: string): Promise<unknown> =>
    import(pathToFileURL(path.resolve(folder.pathOf(file))).href)
  const desk = (await imported('desk-faults.mjs')) as Desk
  // Answers model requests during recording. Forks use a simulator.
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const name = decodeURIComponent(request.url?.split('/')[1] ?? '')
    const said = desk.modelAnswer(name, JSON.parse(await text(request)), true)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(said))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  try {
    const { FAULTS } = (await imported('faults.mjs')) as { FAULTS: Record<string, Planted> }
    const faults = [
      ...Object.entries(FAULTS).map(([name, { truth, echoes, backUps }]) => ({
        name,
        expects: [describedAs(truth, echoes, backUps)],
        simulator: path.resolve(folder.pathOf('simulator.mjs')),
        record: async () => (await recordShipped(folder, 'agent.mjs', { args: [name] })).tape,
      })),
      ...Object.keys(desk.DESK_FAULTS).map((name) => deskFault(folder, name, desk, url)),
    ]
    const validated: Validated[] = []
    // Several searches share a pool, because a single one sometimes waits for one fork.
    await mapConcurrent(faults, 2 * pool.size, async (fault) => {
      const tape = openTape(await fault.record())
      validated.push(await validateRun(fault, tape, pool, signal))
      onFault()
    })
    const order = faults.map(({ name }) => name)
    return validated.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  } finally {
    server.close()
    folder.remove()
  }
}

const deskFault = (folder: ShippedFolder, name: string, desk: Desk, url: string): Fault => ({
  name,
  expects: desk.DESK_FAULTS[name]?.expects ?? [],
  simulator: path.resolve(folder.pathOf('desk-simulator.mjs')),
  record: async () => {
    const args = [name, `${url}/${encodeURIComponent(name)}`]
    const { tape } = await recordShipped(folder, 'desk.mjs', { args })
    // The missing file exists again when forks run.
    if (name === 'missing file') writeFileSync(folder.pathOf('open.txt'), '')
    return tape
  },
})

/** Blames one planted failure. Planted and found causes are in the same words. */
async function validateRun(
  { name, expects, simulator }: Fault,
  tape: Tape,
  pool: LocalForkPool,
  signal: AbortSignal,
) {
  const process = processOf(tape)
  const steps = searchedSteps(process)
  const { findings, facts } = await searchRun({
    tape,
    process,
    steps,
    oracle: await makeOracle('stdout:PASSED', { recorded: tape }),
    free: [],
    interventions: planInterventions(tape, steps, [], { simulator }),
    env: {},
    seed: 1,
    pool,
    maxForks: 300,
    timeoutMs: 30_000,
    signal,
  })
  const found = foundText(findings)
  return {
    name,
    isRight: expects.includes(found),
    isInnocentBlamed: expects.includes('nobody') && !['nobody', 'cannot tell'].includes(found),
    planted: expects[0] ?? '',
    found,
    forks: findings.forks.asked,
    wallMs: facts.wallMs,
  }
}

function foundText(findings: BlameFindings): string {
  const { verdict, steps, causes, ambient } = findings
  if (verdict === 'race') return verdict
  if (verdict === 'inconclusive' || verdict === 'stopped') return 'cannot tell'
  const [cause] = namesCauses(findings) ? causes : []
  const input = ambient[cause?.ambient?.[0] ?? -1]
  if (input?.kind === 'order') return 'race'
  // Files of the planted agents are in a temporary folder.
  if (input !== undefined && cause?.steps.length === 0)
    return `the ${input.kind} ${path.basename(input.name)}`
  const [first = [], ...others] = namesCauses(findings) ? causeIndexes(findings) : []
  const echoes = steps.flatMap(({ role }, index) => (role === 'echo' ? [index] : []))
  return describedAs(first, echoes, others)
}

function describedAs(
  cause: readonly number[],
  echoes: readonly number[] = [],
  backUps: readonly (readonly number[])[] = [],
): string {
  const labels = (steps: readonly number[]): string => steps.map((step) => step + 1).join(' + ')
  return [
    cause.length === 0 ? 'nobody' : labels(cause),
    ...echoes.map((step) => `echo ${step + 1}`),
    ...backUps.map((steps) => `back-up ${labels(steps)}`),
  ].join(', ')
}

/** Implements `retake blame --validate`. Returns the exit code. */
export async function runValidation(options: Options): Promise<number> {
  using interruption = new Interruption()
  using progress = new Progress('recording agents with known faults')
  let done = 0
  const validated = await validateBlame(
    makePool(options.jobs(project().blame.jobs)),
    interruption.signal,
    () => progress.say(`${++done} planted failures blamed`),
  )
  progress.stop()
  interruption.throwIfAny()
  const isGood = validated.every(({ isRight }) => isRight)
  options.print({ good: isGood, faults: validated }, (look) => validatedLines(validated, look))
  return isGood ? 0 : 1
}

function validatedLines(validated: readonly Validated[], look: Look): string[] {
  const { paint, width } = look
  const right = validated.filter(({ isRight }) => isRight).length
  const forks = validated.reduce((sum, each) => sum + each.forks, 0)
  const wallMs = Math.max(0, ...validated.map((each) => each.wallMs))
  const isGood = right === validated.length
  const { low, high } = wilson(right, validated.length)
  return [
    `${paint(isGood ? 'green' : 'red', isGood ? 'valid' : 'not valid')} · ${right} of ${validated.length} as planted (${intervalText({ low, high })}) · ${forks} forks · ${duration(wallMs)}`,
    '',
    ...tableLines(
      [
        ['planted failure', 'to blame', 'forks', 'blamed'],
        ...validated.map((each) => [
          each.name,
          each.planted,
          String(each.forks),
          each.isRight ? each.found : `${each.found}  WRONG`,
        ]),
      ],
      width,
    ),
  ]
}
