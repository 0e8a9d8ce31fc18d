import type { Divergence, MovedRoot, ReplayReport } from '@retake/engine'
import { movedTape } from '@retake/engine/plans'
import {
  isStructural,
  redactionOf,
  refuseImported,
  revealedTape,
  withSurroundings,
} from '@retake/engine/runs'
import { RetakeError } from '@retake/engine/errors'
import { defined, type Tape } from '@retake/tape'
import { type AgentOptions, type AgentStart, TaskProcess, missingReport } from './agent-process.js'
import { cliErrors } from '../errors.js'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { duration, plural } from '@retake/tape/present'
import { divergenceReport, missingOutputLines } from './divergence.js'
import {
  changedSources,
  entryOf,
  movedHere,
  packageChanges,
  packageChangeText,
} from '../sources/source-code.js'
import { fromHere, type Look, printable, linesOf } from '../terminal/terminal.js'
import type { RecordedCode } from '../sources/recorded-code.js'
import { hasLockFile } from '../sources/install-packages.js'
import { hasRecordedCode } from '../sources/source-store.js'
import { isCutOff, runName } from '../runs/run-store.js'
import { viewRun } from '../runs/view-run.js'
import { requireTrust } from './trust.js'

/** More differences are only counted. `--json` has all of them. */
const SHOWN_MAX = 20

/** All divergences in full, or one line if nothing differs. `fix` replaces the advice. */
export function replayReceipt(
  tape: Tape,
  replayed: Replayed,
  look: Look,
  fix?: readonly string[],
): string[] {
  const { divergences, placeholders, entry, events, contacts, changedCode } = replayed
  const { paint } = look
  if (divergences.length === 0) {
    const sockets = Object.values(contacts).reduce((sum, count) => sum + count, 0)
    const facts = [
      `${events} of ${events} events`,
      `${replayed.served} served`,
      plural(sockets, 'socket'),
      `${duration(replayed.wallMs)} (recorded ${duration(tape.event(tape.count - 1).at)})`,
    ]
    const verdict = isStructural(tape) ? 'same structure' : 'identical'
    return [
      `${paint('green', verdict)} · ${facts.join(' · ')}`,
      ...(changedCode ? [`code: ${recordedCodeText(changedCode)}`] : []),
      ...(replayed.cutOff || isCutOff(tape) ? cutOffLines(tape, look) : []),
      ...missingOutputLines(tape),
      `digest ${tape.digest}`,
    ]
  }
  const options = defined({ fix, placeholders, entry, changedCode })
  const reports = divergences
    .slice(0, SHOWN_MAX)
    .flatMap((divergence, index) => [
      ...(index > 0 ? [''] : []),
      ...divergenceReport(tape, divergence, look, options),
    ])
  const more = divergences.length - SHOWN_MAX
  return linesOf(
    ...reports,
    more > 0 && ['', `and ${plural(more, 'more difference')}; --json has all of them`],
  )
}

/** Said when the recorded code ran. */
export const recordedCodeText = (changed: readonly string[]): string =>
  changed.length === 0
    ? 'as recorded, and as it is today'
    : `as recorded; changed since: ${changed.map(fromHere).join(', ')}`

/** For a run that was killed: operations in progress may or may not have had their effect. */
export function cutOffLines(tape: Tape, { paint }: Look): string[] {
  const { exit, recordedSteps } = viewRun(tape)
  const inDoubt = recordedSteps.filter(({ state }) => state === 'in doubt')
  return [
    `${paint('yellow', 'cut off')} · ${missingEnd(tape, exit?.signal)}`,
    ...inDoubt.map((step) => `  in doubt: step ${step.label} ${printable(step.title)}`),
  ]
}

/** A killed run and a file that was cut leave the same tape. */
function missingEnd(tape: Tape, signal: string | undefined): string {
  if (tape.isComplete) return `the recording ends there: the run was killed by ${signal}`
  if (tape.status !== 'truncated')
    return 'the end of the tape is missing after the end of the run; nothing else was compared'
  return 'the end is missing: the run was killed, or its tape was cut; what came then is unknown'
}

export interface ReplayOptions extends Partial<AgentOptions> {
  readonly observe?: boolean
  readonly pace?: boolean
  /** `requests`: output, clock reads and random values may differ. */
  readonly compares?: 'everything' | 'requests'
  readonly reportsDrawSites?: boolean
  readonly nodeArgs?: readonly string[]
  readonly entry?: string | undefined
  readonly inspectFd?: number
  /** Runs this code instead of today's. */
  readonly code?: RecordedCode | undefined
}

/** How a replayed command was confined. */
export interface Isolation {
  /** `blocked`: it could reach only the replay proxy. */
  readonly network: 'blocked' | 'open'
  /** `discarded`: it saw its own writes, but no file was changed. */
  readonly files: 'discarded' | 'kept'
  readonly by?: 'bubblewrap' | 'unshare'
  /** Folders and sockets that could not be isolated despite the sandbox. */
  readonly except?: readonly string[]
  readonly why?: string
}

export interface Replayed extends Omit<ReplayReport, 'divergences'> {
  readonly divergences: readonly Divergence[]
  readonly signal?: NodeJS.Signals
  /** Variables for which the program got a placeholder. */
  readonly placeholders?: readonly string[]
  readonly isolation?: Isolation
  /** Set if this file ran instead of the recorded program. */
  readonly entry?: string
  /** Set if the recorded code ran instead of today's: the files that have changed since. */
  readonly changedCode?: readonly string[]
  /** For commands: hosts that were reached but not recorded, and are refused now. */
  readonly notRecorded?: readonly string[]
}

/** Runs the recorded program again, or this checkout's copy of it, served from its tape. */
export async function replayAgent(tape: Tape, options: ReplayOptions = {}): Promise<Replayed> {
  using child = new ReplayProcess(tape, options)
  const end = await child.run({ stdio: ['ignore', 'inherit', 'inherit'], ...options })
  const report = child.report()
  if (report === undefined) throw missingReport(end)
  // Reports name the recorded folder; call sites must name the current one.
  const { code, entry } = options
  const { recorded = '', current = '' } = (code ? undefined : movedHere(tape)) ?? {}
  const divergences = report.divergences.map((divergence) => ({
    ...divergence,
    ...defined({ site: divergence.site?.replace(recorded, current) }),
  }))
  const facts = defined({ signal: end.signal, entry, changedCode: code?.changed })
  return { ...report, divergences, ...facts }
}

const ENTRY_FAILURES: ReadonlySet<string> = new Set(['ENTRY_NOT_LOADED', 'ENTRY_NOT_A_FUNCTION'])

export class ReplayProcess extends TaskProcess {
  readonly #root: MovedRoot | undefined

  constructor(
    private readonly tape: Tape,
    private readonly options: ReplayOptions = {},
  ) {
    const { observe = false, pace = false, compares, reportsDrawSites = false } = options
    const { nodeArgs, inspectFd, code } = options
    const root = code?.root ?? movedHere(tape)
    super(
      startOf(tape, root, options.entry),
      (inside) => ({
        mode: 'replay',
        tape: path.resolve(tape.path),
        observe,
        ...(compares && { compares }),
        pace: pace ? 'recorded' : 'full',
        report: inside('report.json'),
        reportsDrawSites,
        ...(inspectFd !== undefined && { inspect: { fd: inspectFd } }),
        ...(root && { root }),
      }),
      { nodeArgs, isServed: true, isInspected: inspectFd !== undefined },
    )
    this.#root = root
  }

  /** An entry that cannot be loaded or called any more is a changed one in most cases. */
  override throwFailure(): void {
    try {
      super.throwFailure()
    } catch (error) {
      if (!(error instanceof RetakeError) || !ENTRY_FAILURES.has(error.code)) throw error
      const { tape, options } = this
      const isRecorded = options.code !== undefined
      const changes = [
        ...(isRecorded ? [] : changedSources(tape).map(fromHere)),
        ...packageChanges(tape).map(packageChangeText),
      ]
      if (changes.length === 0) throw error
      const command = `retake replay ${runName(tape)} --code recorded`
      const canRun = isRecorded ? hasLockFile(tape) : hasRecordedCode(tape)
      throw new RetakeError(
        error.code,
        error.what,
        `${error.why.replace(/\.?$/, '.')} Changed since the recording: ${changes.join(', ')}.`,
        canRun
          ? `Undo the change, or run \`${command}${isRecorded ? ' --install' : ''}\`.`
          : error.fix,
        { cause: error },
      )
    }
  }

  /** Undefined if the process ended without a report. */
  report(): ReplayReport | undefined {
    const root = this.#root
    return this.read('report.json', (text) =>
      root ? text.replaceAll(root.current, root.recorded) : text,
    ) as ReplayReport | undefined
  }
}

/** Throws for a run recorded through the proxy, which has no program to start from here. */
export function refuseProxyRun(tape: Tape): void {
  const { run, details } = tape
  refuseImported(tape)
  if (details.proxy !== undefined) throw cliErrors.NOT_A_NODE_RUN(run.id, details.command)
}

/** How to start the recorded program. Throws if that is impossible or not allowed. */
export function startOf(tape: Tape, root?: MovedRoot, other?: string): AgentStart {
  const known = withPersonalData(tape)
  const { details } = root ? movedTape(known, root) : known
  const { args = [], cwd, execArgv = [], preloads, input, inputProof: proof, host } = details
  refuseProxyRun(tape)
  const recorded = entryOf({ run: tape.run, details })
  const entry = other === undefined ? recorded?.file : path.resolve(other)
  const name = recorded?.name
  if (entry === undefined || cwd === undefined) throw cliErrors.NOT_A_PROCESS_RUN(tape.run.id)
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw cliErrors.RECORDED_FOLDER_MISSING(cwd)
  if (!statSync(path.resolve(cwd, entry), { throwIfNoEntry: false })?.isFile())
    throw cliErrors.RECORDED_AGENT_MISSING(
      entry,
      cwd,
      root === undefined && hasRecordedCode(tape) ? runName(tape) : undefined,
    )
  requireTrust(tape)
  // Node refuses to start without such a file, and its variables are on the tape.
  const nodeArgs = execArgv.filter((flag) => {
    const file = /^--env-file(?:-if-exists)?=(.*)$/s.exec(flag)?.[1]
    return file === undefined || existsSync(path.resolve(cwd, file))
  })
  const env = details.env ? withSurroundings(process.env, details.env) : process.env
  const sources = [entry, ...Object.keys(details.code?.files ?? {})]
  const start = {
    entry,
    args,
    cwd,
    env,
    nodeArgs,
    sources: [...new Set(sources.map((file) => path.resolve(cwd, file)))],
  }
  if (name === undefined) return { ...start, ...(preloads && { preloads }) }
  // The program loaded its preloads before the run, so the agent gets none.
  const file = path.resolve(cwd, entry)
  const call = { file, name, ...defined({ input, proof, host }) }
  return { ...start, preloads: [], call }
}

/** The tape of a redacted run with what the program really got, if this user has the key. */
export const withPersonalData = (tape: Tape): Tape =>
  redactionOf(tape) === undefined ? revealedTape(tape) : tape

/** Describes the isolation of a replayed command. `isSame`: everything it could do was compared. */
export function isolationFacts({ isolation, notRecorded = [] }: Replayed) {
  const gaps = notRecorded.map(
    (target) => `the connection to ${target} was not recorded, and was refused: not compared`,
  )
  if (isolation === undefined) return { isSame: gaps.length === 0, blocked: [], gaps }
  const { network, by, except = [], why } = isolation
  if (network === 'open')
    gaps.push(
      `its file writes and its connections outside the proxy were not blocked: ${why ?? ''}`,
    )
  else if (except.length > 0) gaps.push(`not blocked: ${except.join(', ')}`)
  return {
    isSame: gaps.length === 0,
    blocked: network === 'blocked' ? [`network blocked (${by})`, 'file writes discarded'] : [],
    gaps,
  }
}
