import { painter, printJson, widthOf } from '../terminal/terminal.js'
import type { Verb } from '../command-line/verb.js'
import { createHash } from 'node:crypto'
import { openTape } from '@retake/tape/node'
import { auditRun } from './audit.js'
import { copyShipped, type ShippedFolder, recordShipped } from '../demo/shipped-folder.js'
import { replayAgent, replayReceipt } from '../agent/replay-agent.js'
import { RunStore } from '../runs/run-store.js'

export default {
  arguments: '',
  description: `Records two small programs that come with Retake: one with tools under a policy,
one with a tool that breaks its contract. Then replays the first: no tool runs again, and the
decisions are the same. The programs are copied to .retake/sample each time. To try a change, edit
one and run it with \`retake record\`. No key is needed.`,
  options: { '--json': 'print only the results, as JSON' },
  examples: ['retake sample', 'retake record .retake/sample/policy.ts'],
  async run(options) {
    const json = options.json
    const say = (text: string): void => {
      if (!json) console.log(text)
    }
    const folder = copyShipped('sample', [POLICY, CONTRACT])
    say(title(1, 'Policy: a tool may read its notes, and nothing else'))
    const first = await record(folder, POLICY, say)
    say(title(2, 'Contract: a tool promised JSON'))
    const second = await record(folder, CONTRACT, say)
    say(title(3, 'Replay: the first act again, without running a tool'))
    const tape = openTape(first.tape)
    say(`   $ retake replay ${tape.run.id}`)
    const output = createHash('sha256')
    const replayed = await replayAgent(tape, {
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk) => output.update(chunk),
    })
    for (const line of replayReceipt(tape, replayed, look())) say(`   ${line}`)
    const identical = output.digest('hex') === first.digest && replayed.divergences.length === 0
    say(['', ...nextSteps(folder, tape.run.id)].join('\n'))
    if (json)
      printJson({
        policy: { run: tape.run.id, states: statesOf(first.tape) },
        contract: { run: openTape(second.tape).run.id, states: statesOf(second.tape) },
        replay: { identical, divergences: replayed.divergences },
      })
    return identical ? 0 : 1
  },
} satisfies Verb

const POLICY = 'policy.ts'
const CONTRACT = 'contract.ts'

/** Where nothing could be written here, the runs are elsewhere. */
function nextSteps(folder: ShippedFolder, run: string): string[] {
  const runs = folder.store.folder
  const where = runs === new RunStore().folder ? '' : ` --dir ${runs}`
  return [
    [`retake audit ${run}${where}`, 'which rule decided what'],
    [`retake show ${run}${where}`, 'its steps'],
    [`retake ui${where}`, 'see all of it in the browser'],
    [`retake record${where} ${folder.pathOf(POLICY)}`, 'run it again, changed'],
  ].map(([command = '', what]) => `   ${command.padEnd(38)}  ${what}`)
}

const look = () => ({ paint: painter(process.stdout), width: widthOf(process.stdout) - 3 })
const title = (number: number, text: string): string =>
  `${number === 1 ? '' : '\n'}${look().paint('bold', `${number}  ${text}`)}\n`

const statesOf = (tape: string): string[] =>
  auditRun(openTape(tape)).calls.map(({ tool, state }) => `${tool}: ${state}`)

async function record(
  folder: ShippedFolder,
  file: string,
  say: (text: string) => void,
): Promise<{ readonly tape: string; readonly digest: string }> {
  say(`   $ retake record ${folder.pathOf(file)}`)
  const output = createHash('sha256')
  const { tape } = await recordShipped(folder, file, {
    onOutput: (chunk) => {
      output.update(chunk)
      for (const line of chunk.toString().trimEnd().split('\n')) say(`   ${line}`)
    },
  })
  return { tape, digest: output.digest('hex') }
}
