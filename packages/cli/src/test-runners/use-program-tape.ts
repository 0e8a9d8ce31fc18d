import { realpathSync } from 'node:fs'
import path from 'node:path'
import { ReplayDiverged } from '@retake/engine'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { notAProgramTape, recordedProgramFailed, testTapeCutOff } from '../errors/test-tapes.js'
import { movedHere } from '../moved-here.js'
import { recordAgent } from '../record-agent.js'
import { replayHere } from '../replay-here.js'
import { RunStore } from '../run-store.js'
import { trustInThisProcess } from '../trust.js'
import { nameOfTape, recordAside } from './record-aside.js'
import { chooseMode } from './tape-mode.js'
import { checkFiles, isToBeRecorded } from './use-tape.js'
import type { TapeOptions } from './use-tape.js'

/** The same as `useTape` for a whole program, in a process of its own, as `retake record` and `replay` run it. */
export async function useProgramTape(
  file: string,
  program: string,
  options: TapeOptions = {},
): Promise<void> {
  if (isToBeRecorded(file, chooseMode(options.mode))) await recordProgram(file, program, options)
  else await replayProgram(file, program, options)
}

async function recordProgram(
  file: string,
  program: string,
  { throws = false }: TapeOptions,
): Promise<void> {
  const make = async (folder: string): Promise<void> => {
    const store = new RunStore(folder)
    const name = nameOfTape(file)
    const entry = path.relative(process.cwd(), program)
    const end = await recordAgent({ store, entry, args: [], name, stdio: 'ignore' })
    if (throws || (end.code === 0 && end.signal === undefined)) return
    const how = end.signal ? `was killed by ${end.signal}` : `ended with exit code ${end.code}`
    throw recordedProgramFailed(file, how)
  }
  await recordAside(file, make, { throws: false })
}

/** Replays and never records. */
export async function replayProgram(
  file: string,
  program: string,
  options: TapeOptions = {},
): Promise<void> {
  const tape = openTape(file)
  if (!tape.isComplete) throw testTapeCutOff(file)
  if (!isRunOf(tape, program)) throw notAProgramTape(file, program)
  // The test itself names the program.
  trustInThisProcess(tape)
  const [divergence] = (await replayHere(tape)).divergences
  if (divergence !== undefined) throw new ReplayDiverged(divergence)
  checkFiles(tape, movedHere(tape), options)
}

function isRunOf(tape: Tape, program: string): boolean {
  const { cwd, entry } = tape.details
  if (cwd === undefined || entry === undefined) return false
  const root = movedHere(tape)
  const recorded = path.resolve(root?.current ?? cwd, path.relative(cwd, path.resolve(cwd, entry)))
  return realPath(recorded) === realPath(program)
}

/** The path itself where there is nothing. */
function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
