import { serveUntilSignal } from '../ui/serve-ui.js'
import { painter, printJson, widthOf } from '../terminal/terminal.js'
import type { Options, Verb } from '../command-line/verb.js'
import { createHash } from 'node:crypto'
import { openTape } from '@retake/tape/node'
import { planFork } from '@retake/engine/plans'
import type { Stop } from '@retake/engine/inspect'
import { environmentOnTape, type Step, type Tape } from '@retake/tape'
import { Interrupted } from '../command-line/exit-codes.js'
import { continueAgent, continuedLines } from '../agent/continue-agent.js'
import { copyShipped, type ShippedFolder, recordShipped } from '../demo/shipped-folder.js'
import { startScriptedModel } from '../demo/scripted-model.js'
import { lookAtStep, probeAgent } from '../debug/probe-agent.js'
import { recordingLine } from '../agent/recording-summary.js'
import { replayAgent, type Replayed, replayReceipt } from '../agent/replay-agent.js'
import { stopJson, stopLines } from '../debug/stop-lines.js'
import { hasScreen, openBrowser } from '../terminal/open-browser.js'
import { viewRun } from '../runs/view-run.js'
import type { RunStore } from '../runs/run-store.js'

export default {
  arguments: '',
  description: `Records a small refund agent with a scripted model on this machine, stops the
model, replays the run, and shows the effect of a changed prompt. Then jumps to the step that went
wrong and forks the run there with a corrected tool result. No key is needed. The agent is copied
to .retake/demo; the runs are in .retake/runs. If there is a screen, the viewer opens at the step
that went wrong, with the scripted model running, until Ctrl-C.`,
  options: {
    '--open': 'serve the viewer at the end, even without a screen',
    '--no-open': 'do not serve the viewer',
    '--json': 'print only the results, as JSON',
  },
  examples: ['retake demo'],
  async run(options) {
    const say = options.json ? () => {} : (text: string) => console.log(text)
    const { paint } = look()
    say(`${paint('bold', 'Retake demo')}: a refund agent with a bug. No key, no network.`)
    const folder = copyShipped('demo', [AGENT, 'shop.json'])
    const first = await recordIt(folder, say)
    const second = await replayIt(first, say)
    const third = await changeIt(folder, first.tape, say)
    const wrong = wrongStep(first.tape)
    const stop = await jumpTo(wrong, first.tape, say)
    const branch = await forkAt(wrong, first.tape, say)
    const flipped = branch.output.includes('DENIED')
    const proven = second.identical && third.divergences.length > 0 && flipped
    if (options.json)
      printJson({
        run: first.tape.run.id,
        ...second,
        divergence: third.divergences[0],
        step: wrong.label,
        stop: stopJson(stop),
        branch: branch.id,
        flipped,
      })
    if (!proven) {
      say(`\n${paint('red', 'The replay was not identical.')} Please report it.`)
      return 1
    }
    const shown = { store: folder.store, run: first.tape.run.id, step: wrong.label }
    if (wantsViewer(options)) await openIt(shown, first.tape, say)
    else say(`${ending()}\n${whereToLook(shown)}`)
    return 0
  },
} satisfies Verb

const AGENT = 'agent.ts'

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

async function recordIt(folder: ShippedFolder, say: Say): Promise<Recorded> {
  say(title(1, 'Record the agent, with a scripted model on this machine'))
  say(indented([`$ retake record ${folder.pathOf(AGENT)}`]))
  const output = collect(say)
  const recording = await withScriptedModel((url) =>
    recordShipped(folder, AGENT, {
      name: 'demo',
      env: { MODEL_URL: url },
      onOutput: output.take,
    }),
  )
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

async function withScriptedModel<T>(use: (url: string) => Promise<T>, port?: number): Promise<T> {
  const model = await startScriptedModel(port)
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

async function changeIt(folder: ShippedFolder, tape: Tape, say: Say): Promise<Replayed> {
  say(title(3, 'Change one word of a prompt and replay again'))
  say(indented([`$ sed -i s/careful/generous/ ${folder.pathOf(AGENT)}`, '$ retake replay last']))
  const undo = folder.edit(AGENT, 'careful', 'generous')
  const replayed = await replayAgent(tape, { stdio: ['ignore', 'ignore', 'inherit'] }).finally(undo)
  say(indented(replayReceipt(tape, replayed, look())))
  return replayed
}

/** The tool that handed out the outdated policy. */
function wrongStep(tape: Tape): Step {
  const step = viewRun(tape).recordedSteps.find(
    (candidate) => candidate.kind === 'tool' && candidate.call()?.name === 'search_policy',
  )
  if (step === undefined) throw new Error('the demo agent did not call search_policy')
  return step
}

async function jumpTo(step: Step, tape: Tape, say: Say): Promise<Stop> {
  say(title(4, 'Jump to the moment the wrong policy reached the agent, and look inside'))
  say(indented([`$ retake replay last --step ${step.label}`]))
  const probe = await probeAgent(tape)
  try {
    const stop = await lookAtStep(probe, viewRun(tape), step)
    say(indented(stopLines(stop, look())))
    return stop
  } finally {
    await probe.close()
  }
}

const modelPort = (tape: Tape): number =>
  Number(new URL(environmentOnTape(tape).get('MODEL_URL')?.value ?? '').port)

const CORRECT = 'Customers may return an item within 30 days of delivery.'

async function forkAt(step: Step, tape: Tape, say: Say): Promise<{ id: string; output: string }> {
  say(title(5, 'Fork it there with the right policy: the rest runs live, the outcome flips'))
  say(indented([`$ retake fork last --at ${step.label} \\`, `    --set 'text="${CORRECT}"'`]))
  const plan = planFork(tape, { at: step.label, set: { text: CORRECT } })
  let output = ''
  const shown = collect(say)
  const continued = await withScriptedModel(
    () =>
      continueAgent(tape, plan, {
        stdio: ['ignore', 'pipe', 'inherit'],
        onOutput: (chunk) => {
          output += chunk.toString()
          shown.take(chunk)
        },
      }),
    modelPort(tape),
  )
  if (continued.interruptedBy) throw new Interrupted(continued.interruptedBy)
  say(indented(continuedLines(tape, continued, 'forked', look())))
  return { id: plan.branch?.id ?? '', output }
}

function ending(): string {
  return `
${look().paint('bold', 'Your own agent, JavaScript or TypeScript:')}

   retake record agent.ts    run it as it is, and record everything it touches
   retake show last          its steps, messages, tools and costs
   retake replay last        the same run again, offline, bit for bit
   retake fork last --at 3   try something else there, pay for the rest only
   retake branches last      what was tried, the outcome, and the savings
   retake blame --demo       which step made it fail, found by forking this one
   retake ui                 see all of it, and change it, in the browser`
}

const whereToLook = ({ run, step }: ShownRun): string => `
${look().paint('bold', 'The step that went wrong, in the viewer:')}

   retake ui ${run} --step ${step}`

const wantsViewer = (options: Options): boolean => {
  if (options.json || options.flag('no-open')) return false
  return options.flag('open') || hasScreen(process.env, process.stdout.isTTY)
}

/** Serves the viewer until Ctrl-C. The model answers meanwhile, so that the run can be forked there. */
const openIt = ({ store, run, step }: ShownRun, tape: Tape, say: Say): Promise<void> =>
  withScriptedModel(
    () =>
      serveUntilSignal(store, {
        page: `/runs/${encodeURIComponent(run)}?step=${encodeURIComponent(step)}`,
        onServed: ({ url }) => {
          say(title(6, 'See it: the viewer is open on the step that went wrong'))
          say(indented([url, '', 'Press f to fork there, ? for all keys.']))
          say(ending())
          say('\nThe viewer is served until Ctrl-C.')
          return openBrowser(url)
        },
      }),
    modelPort(tape),
  )

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

interface ShownRun {
  readonly store: RunStore
  readonly run: string
  readonly step: string
}
