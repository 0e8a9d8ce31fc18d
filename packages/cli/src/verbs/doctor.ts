import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { Interrupted } from '../agent-process.js'
import { diagnosisJson, diagnosisLines } from '../diagnosis.js'
import type { Diagnosis } from '../diagnosis.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../exit-codes.js'
import { findSources } from '../nondeterminism.js'
import { Progress } from '../progress.js'
import { recordAgent } from '../record-agent.js'
import type { Recording } from '../record-agent.js'
import { replayAgent } from '../replay-agent.js'
import { RunStore } from '../run-store.js'
import { painter, widthOf } from '../terminal.js'
import { flag, texts } from '../verb.js'
import type { Verb } from '../verb.js'
import { viewRun } from '../view-run.js'

export const doctor: Verb = {
  usage: '[options] <file> [arguments of the agent…]',
  help: `Runs the agent twice, for real, and compares the two recordings; then replays
the first to prove that nothing was missed. SQLite databases that it opens are
copied first, and it works on the copies. Exit code 3 when something is not
captured, or when the replay differs. The recordings are thrown away.

For JavaScript and TypeScript. To check a command, record it with
\`retake record --strict -- python agent.py\`, then replay it.

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
    if (entry === '--')
      throw wrongUsage(
        'doctor',
        'Only JavaScript and TypeScript programs can be examined.',
        'A command is seen from outside: `retake record --strict -- …` names what was not captured, and `retake replay last` what differs.',
      )
    const folder = mkdtempSync(path.join(tmpdir(), 'retake-doctor-'))
    const progress = new Progress('')
    const said = path.join(folder, 'stderr.txt')
    const stderr = openSync(said, 'a')
    try {
      const store = new RunStore(folder)
      const run = async (databases: string): Promise<Recording> => {
        const recording = await recordAgent({
          store,
          entry,
          args,
          nodeArgs: texts(values, 'node-arg'),
          stdio: ['ignore', 'ignore', stderr],
          withSites: true,
          databases: path.join(folder, databases),
        })
        if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
        return recording
      }
      progress.say('first run')
      const first = await run('first')
      const complaint = first.code === 0 ? '' : readFileSync(said, 'utf8')
      progress.say('second run')
      const second = await run('second')
      progress.say('replay')
      const tape = openTape(first.tape)
      const diagnosis: Diagnosis = {
        first,
        complaint,
        tape,
        sources: findSources(tape, openTape(second.tape), first.sites ?? []),
        notCaptured: viewRun(tape).notCaptured,
        replayed: await replayAgent(tape, { stdio: 'ignore' }),
      }
      progress.stop()
      if (flag(values, 'json')) console.log(diagnosisJson(diagnosis))
      else {
        const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
        console.log(diagnosisLines(diagnosis, look).join('\n'))
      }
      return diagnosis.notCaptured.length > 0 || diagnosis.replayed.divergences.length > 0
        ? FOUND
        : 0
    } finally {
      progress.stop()
      closeSync(stderr)
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
