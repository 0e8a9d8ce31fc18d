import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { fromWire, recordError } from '@retake/tape/format'
import { showHostFacts } from '../boundaries/host-facts.js'
import { loadEntry } from '../boundaries/module-loads.js'
import { loadWithCopies } from '../boundaries/native/database-handle.js'
import { errors } from '../errors.js'
import { INPUT_PROOF, proofOf } from '../secrets/machine-key.js'
import { natives } from '../kernel/natives.js'
import type { FunctionCall } from '../plans/process-task.js'
import { type EndingSession, runToEnd } from '../library/run-to-end.js'
import { adoptProcess, outsideRuns } from '../kernel/scope.js'
import { SecretMask } from '../secrets/secrets.js'
import type { Operation, Session } from '../kernel/session.js'
import { isPart } from '../kernel/source.js'
import { type ProcessEnd, exitNow, onAgentEnd } from './process-exit.js'

/** Makes the recorded call and ends the process. To be called when all boundaries are installed. */
export type StartCall = () => Promise<void>

/**
 * Runs the agent of this process in a session, and calls `ended` after its end, which may set the
 * exit code. Without a call, the agent is the program, which begins after the preload. With a call,
 * the module is loaded outside the run, as when the run was recorded.
 */
export function startAgent(
  session: EndingSession,
  {
    call,
    scratch,
    isContinued = false,
    begin = () => {},
    ending = () => {},
    ended,
  }: {
    readonly call: FunctionCall | undefined
    /** Folder for copies of the databases that the module opens. */
    readonly scratch: string | undefined
    /** True if the run may go live. */
    readonly isContinued?: boolean
    /** Called immediately before code of the run executes. */
    readonly begin?: (() => void) | undefined
    /** Called when a program has ended, before its end is compared with the tape. */
    readonly ending?: (end: ProcessEnd) => void
    readonly ended: (end: ProcessEnd) => void
  },
): StartCall | undefined {
  if (call === undefined) {
    onAgentEnd((end) => {
      ending(end)
      session.finish(end)
      ended(end)
    })
    captureSignals(session)
    adoptProcess(session)
    begin()
    return undefined
  }
  return async () => {
    const load = (): ReturnType<typeof loadFunction> => loadFunction(call)
    const agent = await (scratch === undefined ? load() : loadWithCopies(session, scratch, load))
    const input = inputOf(call, session, isContinued)
    begin()
    let end: ProcessEnd = { exitCode: 0 }
    try {
      await runToEnd(session, () => agent(input))
    } catch (error) {
      end = { exitCode: 1, error: recordError(error) }
      const text = error instanceof Error ? (error.stack ?? String(error)) : String(error)
      natives.stderrWrite(Buffer.from(`${text}\n`))
    }
    ended(end)
    exitNow(Number(process.exitCode ?? end.exitCode))
  }
}

/**
 * The recorded input. Placeholders in it become the secrets of this process: on replay only if
 * these are provably the recorded ones; in a run that goes live always, because it needs secrets to
 * work.
 */
function inputOf(
  { input, proof }: FunctionCall,
  session: EndingSession,
  isContinued: boolean,
): unknown {
  if (input === undefined) return undefined
  const secrets = new SecretMask()
  secrets.addProcessEnvironment()
  const masked = JSON.stringify(input)
  const revealed = secrets.reveal(masked)
  const isRecorded = proof !== undefined && proofOf(INPUT_PROOF, revealed, false) === proof
  if (revealed === masked || !(isContinued || isRecorded)) return fromWire(input)
  // The agent's requests are compared and recorded with placeholders again.
  session.secrets.takeOver(secrets)
  return fromWire(JSON.parse(revealed))
}

async function loadFunction({
  file,
  name,
  host,
}: FunctionCall): Promise<(input: unknown) => unknown> {
  let module: Readonly<Record<string, unknown>>
  // The script that imports the module of an agent, for `process.argv[1]`. Never the module itself,
  // which would take itself for the main program and run what it has for that case.
  const recorded = host?.script === undefined ? file : path.resolve(host.script)
  process.argv[1] =
    recorded !== file && existsSync(recorded) ? recorded : fileURLToPath(import.meta.url)
  const restore = showHostFacts(host)
  try {
    module = await loadEntry(() => import(pathToFileURL(file).href) as Promise<typeof module>)
  } catch (error) {
    throw errors.ENTRY_NOT_LOADED(file, error)
  } finally {
    restore()
  }
  const found = module[name]
  if (typeof found !== 'function')
    throw errors.ENTRY_NOT_A_FUNCTION(file, name, Object.keys(module))
  return found as (input: unknown) => unknown
}

type Emit = (event: string | symbol, ...args: unknown[]) => boolean

/**
 * Signals that the agent listens for reach it through the gate, at their recorded position. While
 * replaying, a real signal means that the user wants to stop.
 */
function captureSignals(session: Session): void {
  const operations = new Map<string, Operation>()
  const emit = process.emit.bind(process) as Emit
  process.on('newListener', (event: string | symbol) => {
    if (typeof event !== 'string' || !(event in constants.signals)) return
    if (operations.has(event) || session.closed) return
    const operation = session.perform({
      event: { type: 'call', kind: 'input', name: `signal ${event}` },
      start: () => {},
      deliver: ({ event: part }) => {
        // A replay that observes answers a listener that is not on the tape with an error.
        if (isPart(part, 'signal')) emit(event, event, constants.signals[event as NodeJS.Signals])
      },
    })
    operations.set(event, operation)
  })
  process.emit = function (event: string | symbol, ...args: unknown[]): boolean {
    const operation = typeof event === 'string' ? operations.get(event) : undefined
    if (operation === undefined || session.closed) return emit(event, ...args)
    if (session.local === 'tape') process.exit(128 + Number(args[1] ?? 2))
    outsideRuns(() => operation.complete({ type: 'deliver', part: 'signal' }))
    return true
  } as typeof process.emit
}
