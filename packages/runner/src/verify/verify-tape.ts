import { openTape } from '@retake/tape/node'
import type { Durability, NotCaptured, Tape } from '@retake/tape'
import { type ChangedFile, changedFileLines, changedFiles } from '../agent/changed-files.js'
import { checkTape, type IntegritySummary } from '../runs/run-summary.js'
import { explainOrThrow, type ExplainedError } from '../terminal/print-error.js'
import { isolationFacts, type Replayed, replayAgent } from '../agent/replay-agent.js'
import { changedSources, whyNotRunAgain } from '../sources/source-code.js'
import { RecordedCode } from '../sources/recorded-code.js'
import { fromHere } from '../terminal/terminal.js'
import { originalOf } from '../privacy/vault.js'
import { temporaryFolder } from '../temporary-folder.js'
import { viewRun } from '../runs/view-run.js'

export interface VerifiedTape {
  readonly tape: string
  readonly run?: string
  readonly name?: string
  readonly integrity: IntegritySummary | 'unreadable' | 'missing'
  readonly replay: 'identical' | 'same output' | 'diverged' | 'failed' | 'not tried'
  readonly notReplayed?: string
  /** One line: the problem, or how much was checked. */
  readonly detail: string
  /** True if no problem was found in what was checked. */
  readonly ok: boolean
  readonly events?: number
  /** Identifies the run. */
  readonly digest?: string
  readonly signature?: string
  /** Set if the tape was not synced while it was written. */
  readonly durability?: Durability
  readonly error?: ExplainedError
  readonly replayed?: Replayed
  /** Files that were served as recorded although they have changed since. */
  readonly changedFiles?: readonly ChangedFile[]
  readonly notCaptured?: readonly NotCaptured[]
  /** Source files that have changed since; set if they were not used, or if a replay with them differs. */
  readonly changedCode?: readonly string[]
}

export interface VerifyOptions {
  readonly replay: boolean
  /** Accepts a tape without an end. */
  readonly allowCutOff: boolean
  readonly strictFiles: boolean
  /** The code that is replayed. */
  readonly code: 'recorded' | 'today'
}

/** Nothing is wrong with the tape, but it cannot be read or understood here. */
const UNREADABLE = new Set(['TAPE_FROM_FUTURE', 'TAPE_UNREADABLE', 'TAPE_IS_DIRECTORY'])

export async function verifyRecordedTape(
  file: string,
  options: VerifyOptions,
): Promise<VerifiedTape> {
  let checked: VerifiedTape
  try {
    checked = checkIntegrity(file, options)
  } catch (error) {
    const explained = explainOrThrow(error)
    if (explained.code === 'TAPE_MISSING') throw error
    const integrity = UNREADABLE.has(explained.code) ? 'unreadable' : 'damaged'
    return {
      tape: file,
      integrity,
      replay: 'not tried',
      notReplayed: integrity,
      detail: `${explained.what} ${explained.why}`,
      ok: false,
      error: explained,
    }
  }
  if (checked.notReplayed !== undefined) return checked
  if (!options.replay) return { ...checked, notReplayed: '--integrity-only' }
  return checkReplay(file, checked, options)
}

function checkIntegrity(file: string, { allowCutOff }: VerifyOptions): VerifiedTape {
  const tape = openTape(file)
  const { integrity, ...found } = checkTape(tape)
  return {
    tape: file,
    run: tape.run.id,
    name: tape.run.name,
    integrity,
    replay: 'not tried',
    ...(integrity === 'damaged' && { notReplayed: 'damaged' }),
    ...(integrity === 'recording' && { notReplayed: 'still being recorded' }),
    ...found,
    ok: integrity !== 'damaged' && (integrity !== 'cut off' || allowCutOff),
  }
}

/** A scrubbed copy is replayed as its original, if its vault can be opened. */
async function checkReplay(
  file: string,
  checked: VerifiedTape,
  options: VerifyOptions,
): Promise<VerifiedTape> {
  try {
    using temporary = temporaryFolder('verify')
    const { tape, note } = originalOf(openTape(file), temporary.path)
    const noted = note === undefined ? {} : { detail: `${checked.detail} · ${note}` }
    const replayed = await replayOnce(tape, { ...checked, ...noted }, options)
    if (replayed.replay === 'not tried') return replayed
    // Facts that a replay does not show: files served as recorded, and uncaptured boundaries.
    const changed = changedFiles(tape)
    const { notCaptured } = viewRun(tape)
    const [first] = changedFileLines(changed)
    const isExplained = options.code === 'recorded' || !replayed.ok
    const changedCode =
      isExplained && tape.details.code !== undefined ? changedSources(tape).map(fromHere) : []
    return {
      ...replayed,
      ...(changedCode.length > 0 && { changedCode }),
      ...(changed.length > 0 && { changedFiles: changed }),
      ...(notCaptured.length > 0 && { notCaptured }),
      ...(options.strictFiles &&
        first !== undefined && { ok: false, ...(replayed.ok && { detail: first }) }),
    }
  } catch (error) {
    const explained = explainOrThrow(error)
    if (!explained.code.startsWith('VAULT_')) throw error
    return { ...checked, replay: 'failed', detail: explained.what, ok: false, error: explained }
  }
}

async function replayOnce(
  tape: Tape,
  checked: VerifiedTape,
  options: Pick<VerifyOptions, 'code'>,
): Promise<VerifiedTape> {
  const { command, proxy } = tape.details
  if (proxy !== undefined && command === undefined)
    return { ...checked, notReplayed: 'recorded by retake proxy: replay it with retake proxy' }
  const notReplayed = command === undefined ? whyNotRunAgain(tape) : undefined
  if (notReplayed !== undefined) return { ...checked, notReplayed }
  try {
    using code = options.code === 'recorded' ? RecordedCode.required(tape) : undefined
    const replayed = await (command === undefined
      ? replayAgent(tape, { stdio: 'ignore', code })
      : (await import('../commands/replay-recorded-command.js')).replayRecordedCommand(tape))
    const [divergence] = replayed.divergences
    if (divergence === undefined) {
      const { isSame, gaps } = isolationFacts(replayed)
      if (isSame) return { ...checked, replay: 'identical', replayed }
      const detail = [checked.detail, ...gaps].join(' · ')
      return { ...checked, replay: 'same output', detail, replayed }
    }
    const detail = `event ${divergence.seq}: ${divergence.summary}`
    return { ...checked, replay: 'diverged', detail, ok: false, replayed }
  } catch (error) {
    const explained = explainOrThrow(error)
    return { ...checked, replay: 'failed', detail: explained.what, ok: false, error: explained }
  }
}
