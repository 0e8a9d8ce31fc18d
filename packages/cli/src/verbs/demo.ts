import { createHash } from 'node:crypto'
import { openTape } from '@retake/tape/node'
import type { Tape } from '@retake/tape'
import { Interrupted } from '../agent-process.js'
import { wrongUsage } from '../errors.js'
import { makeDemoFolder } from '../demo/demo-folder.js'
import type { DemoFolder } from '../demo/demo-folder.js'
import { startScriptedModel } from '../demo/scripted-model.js'
import { recordAgent } from '../record-agent.js'
import { recordingLine } from '../recording-line.js'
import { replayAgent } from '../replay-agent.js'
import type { Replayed } from '../replay-agent.js'
import { replayReceipt } from '../replay-receipt.js'
import { painter, widthOf } from '../terminal.js'
import { flag } from '../verb.js'
import type { Verb } from '../verb.js'

export const demo: Verb = {
  name: 'demo',
  summary: 'See it work: an agent with a bug, recorded and replayed, no key needed',
  usage: '[--json]',
  help: `Records a small refund agent that talks to a scripted model on this machine,
stops the model, replays the run, and shows what a changed prompt looks like.
The agent is copied to .retake/demo; the run stays in .retake/runs.

Options:
  --json  only the results, as JSON

Examples:
  retake demo`,
  options: {},
  async run(values, rest) {
    if (rest.length > 0)
      throw wrongUsage('demo', `"${rest[0]}" is one too many.`, 'The command takes no arguments.')
    const say = flag(values, 'json') ? () => {} : (text: string) => console.log(text)
    const { paint } = look()
    say(`${paint('bold', 'Retake demo')}: a refund agent with a bug. No key, no network.`)
    const folder = makeDemoFolder()
    const first = await recordIt(folder, say)
    const second = await replayIt(first, say)
    const third = await changeIt(folder, first.tape, say)
    const proven = second.identical && third.divergences.length > 0
    if (flag(values, 'json'))
      console.log(
        JSON.stringify({ run: first.tape.run.id, ...second, divergence: third.divergences[0] }),
      )
    say(ending(proven))
    return proven ? 0 : 1
  },
}

type Say = (text: string) => void
const look = () => ({ paint: painter(process.stdout), width: widthOf(process.stdout) - 3 })
const indented = (lines: readonly string[]): string =>
  lines.map((line) => (line === '' ? '' : `   ${line}`)).join('\n')
const title = (number: number, text: string): string =>
  `\n${look().paint('bold', `${number}  ${text}`)}\n`

interface Recorded {
  readonly tape: Tape
  readonly stdout: string
}

async function recordIt(folder: DemoFolder, say: Say): Promise<Recorded> {
  say(title(1, 'Record the agent, with a scripted model on this machine'))
  say(indented([`$ retake record ${folder.agent}`]))
  const output = collect(say)
  const recording = await withScriptedModel((url) =>
    recordAgent({
      store: folder.store,
      entry: folder.agent,
      args: [],
      name: 'demo',
      env: { MODEL_URL: url },
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: output.take,
    }),
  )
  if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
  say(indented([recordingLine(recording, look().paint)]))
  say('')
  say(
    indented([
      'The refund is wrong: the window has been 30 days since March. The tool',
      'search_policy handed the model an outdated policy, and the model believed it.',
    ]),
  )
  return { tape: openTape(recording.tape), stdout: output.digest() }
}

async function withScriptedModel<T>(use: (url: string) => Promise<T>): Promise<T> {
  const model = await startScriptedModel()
  try {
    return await use(model.url)
  } finally {
    await model.stop()
  }
}

async function replayIt(
  recorded: Recorded,
  say: Say,
): Promise<{ identical: boolean; stdout: string; receipt: Replayed }> {
  say(title(2, 'Replay it: the model is stopped, the same code is served from the tape'))
  say(indented(['$ retake replay last']))
  const output = collect()
  const receipt = await replayAgent(recorded.tape, {
    stdio: ['ignore', 'pipe', 'inherit'],
    onOutput: output.take,
  })
  const stdout = output.digest()
  const same = stdout === recorded.stdout
  say(
    indented([
      ...replayReceipt(recorded.tape, receipt, look()),
      `stdout sha256 ${recorded.stdout.slice(0, 16)}… recorded`,
      `              ${stdout.slice(0, 16)}… replayed: ${same ? 'equal' : 'NOT EQUAL'}`,
    ]),
  )
  return { identical: same && receipt.divergences.length === 0, stdout, receipt }
}

async function changeIt(folder: DemoFolder, tape: Tape, say: Say): Promise<Replayed> {
  say(title(3, 'Change one word of a prompt and replay again'))
  say(indented([`$ sed -i s/careful/generous/ ${folder.agent}`, '$ retake replay last']))
  const undo = folder.edit('careful', 'generous')
  const replayed = await replayAgent(tape, { stdio: ['ignore', 'ignore', 'inherit'] }).finally(undo)
  say(indented(replayReceipt(tape, replayed, look())))
  return replayed
}

function ending(proven: boolean): string {
  const { paint } = look()
  if (!proven) return `\n${paint('red', 'The replay was not what it should be.')} Please report it.`
  return `
${paint('bold', 'Your own agent, JavaScript or TypeScript:')}

   retake record agent.ts    run it as it is, and record everything it touches
   retake show last          its steps, messages, tools and costs
   retake replay last        the same run again, offline, bit for bit`
}

/** Shows what the agent writes, and remembers its digest. */
function collect(say?: Say): { take: (chunk: Buffer) => void; digest: () => string } {
  const hash = createHash('sha256')
  let rest = ''
  return {
    take: (chunk) => {
      hash.update(chunk)
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) say?.(`   ${line}`)
    },
    digest: () => hash.digest('hex'),
  }
}
