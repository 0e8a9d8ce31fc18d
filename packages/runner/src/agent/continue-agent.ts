import { existsSync } from 'node:fs'
import path from 'node:path'
import type { ContinuePlan, ContinueReport, Divergence, SettledDoubt } from '@retake/engine'
import {
  containsSecret,
  isSurrounding,
  sealKeyFor,
  trustedRunsFile,
  withSurroundings,
} from '@retake/engine/runs'
import { RetakeError } from '@retake/engine/errors'
import { environmentOnTape, originOf, type Step, type Tape } from '@retake/tape'
import { defined, type ResponseEvent, type SocketEvent } from '@retake/tape/format'
import { openOwnTape, openTape, TapeWriter } from '@retake/tape/node'
import { FOUND, signalExitCode } from '../terminal/exit-codes.js'
import { type AgentEnd, type AgentOptions, TaskProcess, missingReport } from './agent-process.js'
import { openDemoModel } from './scripted-model.js'
import { cliErrors } from '../errors.js'
import { planOverlay } from '@retake/engine/plans'
import { markRecording, runName } from '../runs/run-store.js'
import { recordedCodeText, startOf, withPersonalData } from './replay-agent.js'
import type { RecordedCode } from '../sources/recorded-code.js'
import { storeCode, storeCodeOfParent } from '../sources/store-code.js'
import { trustInThisProcess } from './trust.js'
import { cost, count, duration, plural } from '@retake/tape/present'
import {
  atText,
  branchFacts,
  type BranchFacts,
  changeText,
  spentTokens,
  originAfterResume,
  type ResumedOnOwnTape,
} from '../runs/branch-tree.js'
import { divergenceAdvice, divergenceReport } from './divergence.js'
import {
  fromHere,
  type Look,
  lookOf,
  type Paint,
  printable,
  wrap,
  linesOf,
  leadLines,
} from '../terminal/terminal.js'
import { viewRun } from '../runs/view-run.js'
import { type Options, type Verb, NODE_PROGRAM_OPTIONS } from '../command-line/verb.js'

export const CONTINUE_OPTIONS: Verb['options'] = {
  '--env <NAME=value>...': 'set a variable that differs from the recording; repeatable',
  ...NODE_PROGRAM_OPTIONS,
  '--json': 'print the result as one line of JSON on stderr',
}

export async function continueVerb(
  tape: Tape,
  plan: ContinuePlan,
  did: 'forked' | 'resumed' | 'rerun',
  options: Options,
  code?: RecordedCode,
): Promise<number> {
  const continued = await continueAgent(tape, besideItsParent(tape, plan, options), {
    code,
    nodeArgs: options.texts('node-arg'),
    env: options.variables(),
  })
  const broken = continued.pinned?.broken
  if (broken) throw new RetakeError(broken.code, broken.what, broken.why, broken.fix)
  const look = lookOf(process.stderr)
  const said = options.json
    ? JSON.stringify(resultJson(tape, continued))
    : continuedLines(tape, continued, did, look).join('\n')
  process.stderr.write(`${said}\n`)
  if (continued.divergences.length > 0) return FOUND
  const isUsed =
    !continued.isLive || unusedChanges(continued, openTape(continued.tape)).length === 0
  if (!isUsed || (plan.live?.edits !== undefined && continued.live?.edited === 0)) return FOUND
  return continued.signal ? signalExitCode(continued.signal) : continued.code
}

/**
 * A branch finds its parent by id. The branch of a tape with another name, such as a copy in
 * `test/tapes`, goes to the folder of runs, where its parent is linked.
 */
function besideItsParent(tape: Tape, plan: ContinuePlan, { store }: Options): ContinuePlan {
  const { branch, overlay } = plan
  if (branch === undefined || path.basename(tape.path, '.tape') === tape.run.id) return plan
  store.prepare()
  const moved = store.pathOf(branch.id)
  return {
    ...plan,
    branch: { ...branch, path: moved },
    ...(overlay !== undefined && { overlay: planOverlay(moved) }),
  }
}

function resultJson(tape: Tape, continued: Awaited<ReturnType<typeof continueAgent>>): object {
  if (!continued.isLive)
    return { run: tape.run.id, identical: continued.divergences.length === 0, ...continued }
  const written = openTape(continued.tape)
  return {
    run: written.run.id,
    parent: written.run.parent,
    branch: written.details.branch,
    facts: continuedFacts(tape, continued, written),
    steps: continuedSteps(tape, continued, written),
    ...continued,
  }
}

export function continuedLines(
  parent: Tape,
  continued: Continued,
  did: 'forked' | 'resumed' | 'rerun',
  look: Look,
): string[] {
  const { changedCode } = continued
  const [first = '', ...others] = outcomeLines(parent, continued, did, look)
  if (changedCode === undefined) return [first, ...others]
  return [
    first,
    ...leadLines('  code     ', printable(recordedCodeText(changedCode)), look.width),
    ...others,
  ]
}

function outcomeLines(
  parent: Tape,
  continued: Continued,
  did: 'forked' | 'resumed' | 'rerun',
  look: Look,
): string[] {
  const { divergences, isLive, settled } = continued
  const { paint, width } = look
  const [divergence] = divergences
  if (divergence !== undefined) return prefixDiffers(parent, continued, look)
  if (!isLive)
    return wrap(
      `identical · all of ${parent.run.id} was served: nothing differs, nothing was sent, nothing was recorded`,
      width,
    ).map((line) => line.replace(/^identical/, paint('green', 'identical')))
  const tape = openTape(continued.tape)
  const facts = continuedFacts(parent, continued, tape)
  const end = continued.signal ? `killed by ${continued.signal}` : `exit code ${continued.code}`
  return [
    `${paint('green', did)} ${paint('bold', tape.run.id)} ${branchOrigin(tape, did)} · ${end}`,
    ...leftLines(parent, continued, look),
    ...(tape.details.branch?.edits ?? []).map(
      (edit) => `  changed  ${changeText(edit, width - 11)}`,
    ),
    ...settled.map((doubt) =>
      doubt.file === undefined
        ? `  ${paint('yellow', 'in doubt')} ${stepLabel(tape, doubt.seq)}${printable(doubt.what)}: ${doubt.decision}`
        : `  settled  ${printable(doubt.what)}: ${writeText(doubt.decision, doubt.file)}`,
    ),
    ...connectionLines(continued, tape, width),
    ...mcpSessionLines(continued, tape, width),
    ...unusedLines(continued, tape, paint),
    ...leadLines('  steps    ', stepsText(parent, continued, tape), width),
    ...factLines(facts, paint),
    `  next     retake ${tape.run.parent === undefined ? 'show' : `diff ${runName(parent)}`} ${runName(tape)}`,
  ]
}

/** The outcome of a write that was in progress at the kill. */
const writeText = (
  decision: SettledDoubt['decision'],
  { written, length }: NonNullable<SettledDoubt['file']>,
): string =>
  decision === 'done'
    ? 'not repeated, because the file shows that it had been done'
    : decision === 'finished'
      ? `its last ${length - written} of ${length} bytes were written; the others were in the file`
      : 'done now; the file was as before the call'

/** Names connections that were open on the tape only, and what became of them. */
function connectionLines({ position }: Continued, tape: Tape, width: number): string[] {
  const fates = new Map<number, { readonly did: keyof typeof FATES; readonly why?: string }>()
  for (const event of tape.events(position)) {
    if (event.type !== 'deliver' || event.op >= position || event.from !== undefined) continue
    const { op, part, error, lost: why } = event
    if (fates.has(op) || tape.event(op).type !== 'socket') continue
    if (error?.code === 'ECONNRESET') fates.set(op, { did: 'lost', ...defined({ why }) })
    else if (part === 'chunk') fates.set(op, { did: 'reopened' })
    else if (part === 'end') fates.set(op, { did: 'closed' })
  }
  if (fates.size === 0) return []
  // HTTP is not affected: each request can use a new connection.
  for (const event of tape.events(0))
    if (event.type === 'request' && fates.get(event.socket ?? -1)?.did !== 'lost')
      fates.delete(event.socket ?? -1)
  const groups = new Map<
    string,
    { did: keyof typeof FATES; to: string; why: string; times: number }
  >()
  for (const [op, { did, why = '' }] of fates) {
    const { path: file, host, port } = tape.event(op) as SocketEvent
    const to = file ?? `${host}:${port}`
    const key = JSON.stringify([did, to, why])
    groups.set(key, { did, to, why, times: (groups.get(key)?.times ?? 0) + 1 })
  }
  return [...groups.values()].flatMap(({ did, to, why, times }) =>
    leadLines(
      `  ${did.padEnd(9)}`,
      printable(`${plural(times, 'connection')} to ${to}: ${FATES[did]}${why && `: ${why}`}`),
      width,
    ),
  )
}

/** Names MCP servers that no longer know the session that the recorded run had opened. */
function mcpSessionLines({ position }: Continued, tape: Tape, width: number): string[] {
  const recorded = new Set<string>()
  const failed = new Map<string, string>()
  for (const event of tape.events(0)) {
    if (event.type !== 'response') continue
    if (event.seq < position) recorded.add(mcpSession(event) ?? '')
    const request = tape.event(event.op)
    if (event.op < position || event.status !== 404 || request.type !== 'request') continue
    const session = mcpSession(request)
    if (session !== undefined && recorded.has(session) && !failed.has(session))
      failed.set(
        session,
        `MCP session at ${request.url}: the server no longer knows it, so ${stepLabel(tape, event.op).trim() || 'a request'} got 404`,
      )
  }
  return [...failed.values()].flatMap((text) => leadLines('  lost     ', printable(text), width))
}

const mcpSession = ({ headers }: Pick<ResponseEvent, 'headers'>): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === 'mcp-session-id')?.[1]

const FATES = {
  lost: 'open on the tape, but not for real, so the agent got ECONNRESET',
  reopened: 'signed in again, and repeated the settings of the session',
  closed: 'open on the tape, but not for real, so the agent saw it end',
} as const

const unusedChanges = ({ pinned }: Continued, { details: { branch } }: Tape): string[] =>
  pinned === undefined
    ? []
    : [...new Set((branch?.edits ?? []).flatMap(({ at }) => at ?? []))].filter(
        (label) => !(label in pinned.matched),
      )

function unusedLines(continued: Continued, tape: Tape, paint: Paint): string[] {
  const { live } = continued
  return linesOf(
    ...unusedChanges(continued, tape).map(
      (label) =>
        `  ${paint('yellow', 'not used')} the change at step ${label}: the branch has no such step`,
    ),
    live !== undefined &&
      live.edited !== live.requests &&
      `  ${paint('yellow', 'not used')} --every-request changed ${live.edited} of ${plural(live.requests, 'live request')}; the others do not have the path`,
  )
}

export function continuedFacts(parent: Tape, continued: Continued, written: Tape): BranchFacts {
  return branchFacts(written, viewRun(written), resumedOnOwnTape(parent, continued, written))
}

function resumedOnOwnTape(
  parent: Tape,
  { settled }: Continued,
  written: Tape,
): ResumedOnOwnTape | undefined {
  if (written.run.id !== parent.run.id) return undefined
  const unasked = settled.filter(({ decision }) => decision === 'skipped').map(({ seq }) => seq)
  return { from: parent.count, unasked: new Set(unasked) }
}

interface ContinuedStep {
  readonly label: string
  readonly title: string
  /** `pinned`: got its recorded answer although its request differs. */
  readonly answer: 'served' | 'pinned' | 'edited' | 'live' | 'lost'
  /** True if served after a live effect on the same host or tool. */
  readonly mayBeStale?: boolean
  readonly costUsd?: number
  readonly tokens?: number
}

function continuedSteps(parent: Tape, continued: Continued, written: Tape): ContinuedStep[] {
  const { pinned } = continued
  const resumed = resumedOnOwnTape(parent, continued, written)
  const seqsOf = (labels: readonly string[] = []): ReadonlySet<number | undefined> =>
    new Set(labels.map((label) => pinned?.matched[label]))
  const forced = seqsOf(pinned?.forced)
  const stale = seqsOf(pinned?.stale)
  return ownSteps(written).map((step) => {
    const { label, title, seq, costUsd } = step
    const tokens = spentTokens(step)
    const origin = resumed ? originAfterResume(step, resumed) : originOf(written, step)
    return {
      label,
      title,
      answer: forced.has(seq) ? 'pinned' : (origin ?? 'live'),
      ...(stale.has(seq) && { mayBeStale: true }),
      ...(costUsd !== undefined && { costUsd }),
      ...(tokens > 0 && { tokens }),
    }
  })
}

const ownSteps = (tape: Tape): readonly Step[] =>
  viewRun(tape).recordedSteps.filter(({ inferred, kind }) => !inferred && kind !== 'mark')

/** How the steps were answered. For a rerun, also how many steps were added or dropped. */
function stepsText(parent: Tape, continued: Continued, written: Tape): string {
  const steps = continuedSteps(parent, continued, written)
  const answers = steps.length === 0 ? 'none' : stepsLine(steps)
  const more = steps.length - ownSteps(parent).length
  if (written.details.branch?.kind !== 'rerun' || more === 0) return answers
  return `${answers} · ${Math.abs(more)} ${more > 0 ? 'more' : 'fewer'} than recorded`
}

function stepsLine(steps: readonly ContinuedStep[]): string {
  const groups: { from: string; to: string; answer: string; usd: number }[] = []
  for (const { label, answer, mayBeStale, costUsd = 0 } of steps) {
    const text = mayBeStale === true ? `${answer} (may be stale)` : answer
    const last = groups.at(-1)
    if (last?.answer === text) {
      last.to = label
      last.usd += costUsd
    } else groups.push({ from: label, to: label, answer: text, usd: costUsd })
  }
  return groups
    .map(({ from, to, answer, usd }) => {
      const price = usd === 0 ? '' : answer === 'live' ? ` ${cost(usd)}` : ` (saved ${cost(usd)})`
      return `${from === to ? from : `${from}–${to}`} ${answer}${price}`
    })
    .join(' · ')
}

function factLines(facts: BranchFacts, paint: Paint): string[] {
  return [
    `  ${paint('green', 'saved')}    ${[plural(facts.savedRequests, 'request'), `${count(facts.savedTokens)} tokens`, money(facts.savedUsd), duration(facts.savedMs)].join(' · ')} (${plural(facts.served, 'step')} not live)`,
    `  paid     ${[plural(facts.paidRequests, 'request'), `${count(facts.paidTokens)} tokens`, money(facts.paidUsd)].join(' · ')} (${plural(facts.live, 'step')} live)`,
  ]
}

const money = (usd: number | undefined): string => (usd === undefined ? 'cost unknown' : cost(usd))

function branchOrigin({ run, details: { branch } }: Tape, did: string): string {
  if (run.parent === undefined) return 'on its own tape'
  const at = branch?.at === undefined ? '' : ` at ${atText(branch.at)}`
  return `${did === 'rerun' ? 'as a branch of' : 'from'} ${run.parent.run}${at}`
}

function stepLabel(tape: Tape, seq: number): string {
  const step = viewRun(tape).recordedSteps.find((candidate) => candidate.seq === seq)
  return step === undefined ? '' : `step ${step.label} `
}

function leftLines(parent: Tape, { left }: Continued, { width }: Look): string[] {
  if (left === undefined) return []
  const { recordedSteps } = viewRun(parent)
  const step = recordedSteps.find(({ seq }) => seq === left.seq)
  const before = recordedSteps.findLast(({ seq }) => seq < left.seq)
  const context = step ? `at step ${step.label}, ` : before ? `after step ${before.label}, ` : ''
  const site = left.site === undefined ? '' : ` (${fromHere(left.site)})`
  const text = `first difference ${context}event ${left.seq}: ${printable(left.summary)}${site}`
  return wrap(text, width - 2).map((line) => `  ${line}`)
}

function prefixDiffers(parent: Tape, continued: Continued, look: Look): string[] {
  const { divergences, isLive, changedCode } = continued
  const [divergence] = divergences
  if (divergence === undefined) return []
  const fix = isLive
    ? [
        'After the change the agent makes a request that its parent did not',
        'make. Remove --tail offline to send it live.',
      ]
    : divergenceAdvice(parent, divergence, defined({ changedCode }))
  return [
    ...divergenceReport(parent, divergence, look, { fix }),
    isLive
      ? '  Nothing was sent. The branch contains what could be served.'
      : '  Nothing was sent and nothing was recorded.',
  ]
}

export interface ContinueOptions extends Partial<AgentOptions> {
  readonly nodeArgs?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** URL of a module that is loaded before code of the run. */
  readonly watch?: string | undefined
  /** Runs this code instead of today's. */
  readonly code?: RecordedCode | undefined
}

export interface Continued extends Omit<ContinueReport, 'divergences' | 'left'>, AgentEnd {
  readonly divergences: readonly Divergence[]
  readonly left?: Divergence
  /** Set if the recorded code ran instead of today's: the files that have changed since. */
  readonly changedCode?: readonly string[]
  /** Tape of the run; the served tape if nothing was recorded. */
  readonly tape: string
}

/**
 * Runs the recorded program again according to the plan. Tapes only have placeholders for secrets;
 * the real ones come from this environment.
 */
export async function continueAgent(
  tape: Tape,
  given: ContinuePlan,
  options: ContinueOptions = {},
): Promise<Continued> {
  const { root } = options.code ?? given
  const plan = { ...given, ...(root && { root }) }
  const program = startOf(tape, plan.root)
  const env = liveEnvironment(withPersonalData(tape), options.env ?? {}, plan)
  const start = { ...program, env }
  const { branch } = plan
  // If today's code runs, the branch names it instead of the parent's.
  const hasCode =
    branch !== undefined && plan.isDiscarded !== true && tape.details.code !== undefined
  const target = plan.branch?.path ?? plan.source
  const codeOfBranch = (): typeof tape.details.code =>
    options.code
      ? storeCodeOfParent(tape, path.dirname(target))
      : storeCode(path.resolve(start.cwd, start.entry), start.cwd, path.dirname(target))
  const code = hasCode ? codeOfBranch() : undefined
  using _mark = markRecording(target, plan.branch && tape.run.id)
  using child = new TaskProcess(
    start,
    (inside) => ({
      mode: 'continue',
      plan: branch && code ? { ...plan, branch: { ...branch, code } } : plan,
      report: inside('report.json'),
      ...(options.watch !== undefined && { watch: options.watch }),
      ...(plan.isDiscarded !== true && { trustedRuns: trustedRunsFile() }),
    }),
    { nodeArgs: options.nodeArgs },
  )
  const { entry = '', cwd = '' } = tape.details
  await using _model = await openDemoModel({ entry, cwd, env })
  const end = await child.run({ stdio: 'inherit', ...options })
  if (end.signal && existsSync(target)) endTape(target, end.signal, branch === undefined)
  if (existsSync(target)) trustInThisProcess(openOwnTape(target))
  const report = child.read('report.json', (text) =>
    root ? text.replaceAll(root.current, root.recorded) : text,
  )
  if (report === undefined) throw missingReport(end)
  const facts = defined({ changedCode: options.code?.changed })
  return { ...(report as ContinueReport & Continued), ...end, ...facts, tape: target }
}

/** Throws the errors of `continueAgent` about programs and credentials, before anything runs. */
export function checkContinuable(
  tape: Tape,
  plan: ContinuePlan,
  env: Readonly<Record<string, string>> = {},
): void {
  startOf(tape, plan.root)
  liveEnvironment(tape, env, plan)
}

/**
 * Adds the end to the tape of an agent that a signal stopped. Its time is unknown for a run that was
 * resumed on its own tape, because the run was stopped in between.
 */
export function endTape(file: string, signal: NodeJS.Signals, isResumed = false): void {
  const tape = openOwnTape(file)
  if (signal === 'SIGKILL' || tape.status !== 'truncated') return
  const { at } = tape.event(tape.count - 1)
  const endedAt = Math.max(at, Date.now() - tape.run.startedAt)
  const writer = TapeWriter.reopen(file, isResumed ? {} : { now: () => endedAt })
  writer.append({ type: 'end', signal })
  writer.seal({ privateKey: sealKeyFor(tape.run) })
}

/**
 * The recorded environment with current secrets and the given changes. Also current: variables that
 * the run did not read, and those that a blame fork does not pin. Changes do not apply to those that
 * it pins.
 */
function liveEnvironment(
  tape: Tape,
  changes: Readonly<Record<string, string>>,
  plan: ContinuePlan,
): NodeJS.ProcessEnv {
  const { env: recorded = {} } = tape.details
  const env: NodeJS.ProcessEnv = withSurroundings(process.env, recorded)
  const missing: string[] = []
  const ambient = plan.pinned?.ambient
  const isLive = (name: string): boolean => ambient?.variables.includes(name) === false
  for (const { name, value: read, isSecret } of environmentOnTape(tape).values()) {
    const value = isSurrounding(name)
      ? (recorded[name] ?? null)
      : isLive(name) && isSecret !== true
        ? (process.env[name] ?? null)
        : read
    if (value === null) delete env[name]
    else env[name] = value
    if (value === null || value === '') continue
    if (isSecret !== true && !containsSecret(name, value)) continue
    const own = changes[name] ?? process.env[name]
    if (own !== undefined) env[name] = own
    else if (IS_KEY.test(name)) missing.push(name)
  }
  // No keys are needed for a simulator, or for a run that may send nothing.
  const sends = plan.tail === 'live' && plan.live?.refuse !== 'everything'
  const needsKeys = sends && plan.pinned?.simulator === undefined
  if (missing.length > 0 && needsKeys) throw cliErrors.CREDENTIALS_MISSING(missing)
  const changed = Object.entries(changes).filter(([name]) => ambient === undefined || isLive(name))
  return { ...env, ...Object.fromEntries(changed) }
}

const IS_KEY = /api_?key|access_?key|auth_?token/i
