import { attempt } from '@retake/tape/format'
import { realpathSync } from 'node:fs'
import path from 'node:path'
import { outsideRuns } from '@retake/engine'
import { loadReplayProcess } from '@retake/engine/inspect'
import { openTape } from '@retake/tape/node'
import { errorLines, explainOrThrow } from './terminal/print-error.js'
import { cliErrors } from './errors.js'
import { RunStore } from './runs/run-store.js'
import { lookOf } from './terminal/terminal.js'
import { replayReceipt } from './agent/replay-agent.js'
import { fileHere, movedHere } from './sources/source-code.js'

/** Package managers start programs and are not the recorded program. */
const LAUNCHER = /[\\/](?:npm|npx|pnpm|yarn|corepack)[\\/]/

/**
 * Serves this process from a run, as `RETAKE_REPLAY=<run>` requests, and prints the receipt at its
 * end. Refuses any program other than the recorded one, because that could reach the network.
 */
export async function replayHere(name: string): Promise<void> {
  const entry = process.argv[1] ?? ''
  if (LAUNCHER.test(realPath(entry))) return
  // Hidden from the program and its children.
  delete process.env['RETAKE_REPLAY']
  try {
    const tape = openTape(new RunStore().find(name))
    const root = movedHere(tape)
    const { cwd = '.', entry: recorded } = tape.details
    if (recorded === undefined) throw cliErrors.NOT_A_PROCESS_RUN(tape.run.id)
    const program = fileHere(cwd, recorded, root)
    if (realPath(program) !== realPath(entry))
      throw cliErrors.REPLAYS_ANOTHER_PROGRAM(tape.run.id, program, entry)
    const replayProcess = await loadReplayProcess()
    replayProcess(
      {
        mode: 'replay',
        tape: path.resolve(tape.path),
        observe: false,
        pace: 'full',
        ...(root && { root }),
      },
      (report) => {
        outsideRuns(() => {
          const lines = replayReceipt(tape, report, lookOf(process.stderr))
          process.stderr.write(`${lines.join('\n')}\n`)
        })
      },
    )
  } catch (error) {
    const explained = explainOrThrow(error)
    process.stderr.write(errorLines(explained))
    process.exit(1)
  }
}

const realPath = (file: string): string => attempt(() => realpathSync(file), path.resolve(file))
