import { openTape } from '@retake/tape/node'
import { explain } from './print-error.js'
import type { Explained } from './print-error.js'
import type { Replayed } from './replay-agent.js'
import { replayHere } from './replay-here.js'
import { replayRecordedCommand } from './replay-recorded-command.js'

/** What is known about one tape after checking it. */
export interface Verified {
  readonly tape: string
  readonly run?: string
  readonly name?: string
  readonly integrity: 'whole' | 'cut off' | 'damaged' | 'unreadable'
  /** `not tried`: the tape is damaged, or holds a function call or a proxy's exchanges, which only their own program can replay. */
  readonly replay: 'identical' | 'diverged' | 'failed' | 'not tried'
  /** One line: what was found, or how much was checked. */
  readonly detail: string
  readonly ok: boolean
  readonly events?: number
  readonly signature?: string
  readonly error?: Explained
  readonly replayed?: Replayed
}

/** Nothing is wrong with the bytes; they cannot be had, or not be understood here. */
const UNREADABLE = new Set(['TAPE_FROM_FUTURE', 'TAPE_UNREADABLE', 'TAPE_IS_DIRECTORY'])

/** Checks every byte of a tape, then runs its program again and compares. */
export async function verifyTape(file: string, options: { replay: boolean }): Promise<Verified> {
  let checked: Verified
  try {
    checked = checkIntegrity(file)
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined || explained.code === 'TAPE_MISSING') throw error
    const integrity = UNREADABLE.has(explained.code) ? 'unreadable' : 'damaged'
    const detail = `${explained.what} ${explained.why}`
    return {
      tape: file,
      integrity,
      replay: 'not tried',
      detail,
      ok: false,
      error: explained,
    }
  }
  return checked.ok && options.replay ? checkReplay(file, checked) : checked
}

function checkIntegrity(file: string): Verified {
  const tape = openTape(file)
  const { ok, count, problem, signature } = tape.verify()
  return {
    tape: file,
    run: tape.run.id,
    name: tape.run.name,
    integrity: ok ? (tape.status === 'truncated' ? 'cut off' : 'whole') : 'damaged',
    replay: 'not tried',
    detail: problem ? `event ${problem.seq}: ${problem.message}` : `${count} events`,
    ok,
    events: count,
    signature,
  }
}

async function checkReplay(file: string, checked: Verified): Promise<Verified> {
  const tape = openTape(file)
  if (tape.run.scope === 'function')
    return { ...checked, detail: `${checked.detail}, a part of a program: replay it with replay()` }
  const { command, proxy } = tape.details
  if (proxy !== undefined && command === undefined)
    return { ...checked, detail: `${checked.detail}, of a proxy: replay it with retake proxy` }
  try {
    const replayed = await (command === undefined ? replayHere(tape) : replayRecordedCommand(tape))
    const [divergence] = replayed.divergences
    if (divergence === undefined) return { ...checked, replay: 'identical', replayed }
    const detail = `event ${divergence.seq}: ${divergence.summary}`
    return { ...checked, replay: 'diverged', detail, ok: false, replayed }
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined) throw error
    return { ...checked, replay: 'failed', detail: explained.what, ok: false, error: explained }
  }
}
