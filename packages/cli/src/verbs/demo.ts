import { offers } from '@retake/runner/command-line'
import { printJson } from '@retake/runner/terminal'
import type { Options, Verb } from '@retake/runner/command-line'
import { openTape } from '@retake/tape/node'
import { planFork } from '@retake/engine/plans'
import type { Stop } from '@retake/engine/inspect'
import type { Step, Tape } from '@retake/tape'
import { unifiedDiff } from '@retake/tape/present'
import { readFileSync } from 'node:fs'
import { Interrupted } from '@retake/runner/command-line'
import { continueAgent, continuedLines } from '@retake/runner/agent'
import { copyDemo, DEMO_AGENT, freeModelSentence, type ShippedFolder } from '@retake/runner/demo'
import { Tour, type TourRecording, type TourReplay } from '@retake/runner/demo'
import { stopAtStep, probeAgent } from '@retake/runner/debug'
import { recordingLine } from '@retake/runner/recording-summary'
import { replayAgent, type Replayed, replayReceipt } from '@retake/runner/agent'
import { stopJson, stopLines } from '@retake/runner/debug'
import { hasScreen, openBrowser } from '@retake/runner/terminal'
import { viewRun } from '@retake/runner/runs'
import type { RunStore } from '@retake/runner/runs'

export default {
  arguments: '',
  description: `Records a small refund agent that uses a scripted model on this machine, stops the
model, replays the run, and shows the effect of a changed prompt. Then jumps to the step that went
wrong and forks the run there with a corrected tool result. No key is needed. The agent is copied
to .retake/demo; the runs are in .retake/runs. If there is a screen, the viewer opens at the step
that went wrong, until Ctrl-C. Later commands can run the agent live, too: the scripted model
answers whenever Retake runs it.`,
  options: {
    '--open': 'serve the viewer at the end, even without a screen',
    '--no-open': 'do not serve the viewer',
    '--json': 'print only the results, as JSON',
  },
  examples: ['retake demo'],
  async run(options) {
    const tour = new Tour({ isQuiet: options.json })
    const { paint } = tour.look
    tour.say(`${paint('bold', 'Retake demo')}: a refund agent with a bug. No key, no network.`)
    const folder = copyDemo()
    tour.chapter('Record the agent, with a scripted model on this machine')
    const first = await tour.record(folder, DEMO_AGENT, { name: 'demo' })
    tour.lines(recordingLine(first, tour.look.paint), '')
    tour.text(
      'The refund is wrong: the window has been 30 days since March. The tool search_policy handed the model an outdated policy, and the model believed it.',
    )
    tour.lines('')
    const model = viewRun(openTape(first.tape)).recordedSteps.find(({ kind }) => kind === 'model')
    tour.text(freeModelSentence(model?.model ?? ''))

    const tape = openTape(first.tape)
    const { identical, digest: stdout, receipt } = await replayIt(folder, tape, first, tour)
    const changed = await changeIt(folder, tape, tour)
    const wrong = wrongStep(tape)
    const stop = await jumpTo(folder, wrong, tape, tour)
    const branch = await forkAt(folder, wrong, tape, tour)
    const flipped = branch.output.includes('DENIED')
    const failure =
      (!identical && 'The replay was not identical.') ||
      (changed.divergences.length === 0 && 'The changed prompt went unnoticed.') ||
      (!flipped && 'The fork did not change the outcome.')
    if (options.json)
      printJson({
        run: tape.run.id,
        identical,
        stdout,
        receipt,
        divergence: changed.divergences[0],
        step: wrong.label,
        stop: stopJson(stop),
        branch: branch.id,
        flipped,
      })
    if (failure) {
      tour.say(`\n${paint('red', failure)} Please report it.`)
      return 1
    }
    const shown = { store: folder.store, run: tape.run.id, step: wrong.label }
    if (wantsViewer(options)) await openIt(folder, shown, tour)
    else {
      const title = paint('bold', 'The step that went wrong, in the viewer:')
      const command = `retake ui${folder.where} ${shown.run} --step ${shown.step}`
      tour.say(`${ending(folder, tour)}\n\n${title}\n\n   ${command}`)
    }
    return 0
  },
} satisfies Verb

async function replayIt(
  { where }: ShippedFolder,
  tape: Tape,
  recorded: TourRecording,
  tour: Tour,
): Promise<TourReplay> {
  tour.chapter('Replay it: the model is stopped, the same code is served from the tape')
  tour.lines(`$ retake replay last${where}`)
  const replayed = await tour.replay(tape, recorded)
  const verdict = replayed.digest === recorded.digest ? 'equal' : 'NOT EQUAL'
  tour.lines(
    `stdout sha256 ${recorded.digest.slice(0, 16)}… recorded`,
    `              ${replayed.digest.slice(0, 16)}… replayed: ${verdict}`,
  )
  return replayed
}

async function changeIt(folder: ShippedFolder, tape: Tape, tour: Tour): Promise<Replayed> {
  tour.chapter('Change one word of a prompt and replay again')
  const file = folder.pathOf(DEMO_AGENT)
  const before = readFileSync(file, 'utf8')
  const undo = folder.edit(DEMO_AGENT, 'careful', 'generous')
  try {
    const changed = unifiedDiff(before, readFileSync(file, 'utf8')).filter(({ sign }) =>
      '+-'.includes(sign),
    )
    tour.lines(
      `${file}, changed`,
      ...changed.map(({ sign, text }) =>
        tour.look.paint(sign === '-' ? 'red' : 'green', `${sign} ${text.trim()}`),
      ),
      '',
      `$ retake replay last${folder.where}`,
    )
    const replayed = await replayAgent(tape, { stdio: ['ignore', 'ignore', 'inherit'] })
    // Before the undo, because the advice compares the code with the recorded one.
    tour.lines(...replayReceipt(tape, replayed, tour.look))
    return replayed
  } finally {
    undo()
    tour.lines('', `${file}, restored`)
  }
}

/** The tool call that returned the outdated policy. */
function wrongStep(tape: Tape): Step {
  const step = viewRun(tape).recordedSteps.find(
    (candidate) => candidate.kind === 'tool' && candidate.call()?.name === 'search_policy',
  )
  if (step === undefined) throw new Error('the demo agent did not call search_policy')
  return step
}

async function jumpTo({ where }: ShippedFolder, step: Step, tape: Tape, tour: Tour): Promise<Stop> {
  tour.chapter('Jump to the moment the wrong policy reached the agent, and look inside')
  tour.lines(`$ retake replay last${where} --step ${step.label}`)
  const probe = await probeAgent(tape)
  try {
    const stop = await stopAtStep(probe, viewRun(tape), step)
    tour.lines(...stopLines(stop, tour.look))
    return stop
  } finally {
    await probe.close()
  }
}

const CORRECT = 'Customers may return an item within 30 days of delivery.'

async function forkAt(
  { where }: ShippedFolder,
  step: Step,
  tape: Tape,
  tour: Tour,
): Promise<{ id: string; output: string }> {
  tour.chapter('Fork it there with the right policy, and let the rest run live')
  tour.lines(`$ retake fork last${where} --at ${step.label} \\`, `    --set 'text="${CORRECT}"'`)
  const plan = planFork(tape, { at: step.label, set: { text: CORRECT } })
  let output = ''
  const show = tour.output()
  const continued = await continueAgent(tape, plan, {
    stdio: ['ignore', 'pipe', 'inherit'],
    onOutput: (chunk) => {
      output += chunk.toString()
      show(chunk)
    },
  })
  if (continued.interruptedBy) throw new Interrupted(continued.interruptedBy)
  tour.lines(...continuedLines(tape, continued, 'forked', tour.look))
  return { id: plan.branch?.id ?? '', output }
}

const ending = ({ where }: ShippedFolder, { look: { paint } }: Tour): string =>
  [
    `\n${paint('bold', 'Your own agent, JavaScript or TypeScript:')}\n`,
    '   retake record agent.ts    run your agent and record it',
    '   retake show last          its steps, messages, tools and costs',
    '   retake replay last        the same run again, offline, bit for bit',
    '   retake fork last --at 3   try something else there; pay only for the rest',
    '   retake branches last      what was tried, the outcome, and the savings',
    '   retake ui                 see and change all of this in the browser',
    `\n${paint('bold', 'The same agent, other questions:')}\n`,
    '   retake blame --demo       which step made the run fail? Takes a minute or two',
    '   retake fix --demo         which change of the code repairs it?',
    ...(where === '' ? [] : [`\nThis folder is read-only: the runs of the demo need${where}.`]),
  ].join('\n')

const wantsViewer = (options: Options): boolean => {
  if (options.json || options.flag('no-open')) return false
  if (offers.serveViewer === undefined) return false
  return options.flag('open') || hasScreen(process.env, process.stdout.isTTY)
}

async function openIt(
  folder: ShippedFolder,
  { store, run, step }: ShownRun,
  tour: Tour,
): Promise<void> {
  const serve = await offers.serveViewer?.()
  await serve?.(store, {
    page: `/runs/${encodeURIComponent(run)}?step=${encodeURIComponent(step)}`,
    onServed: ({ url }) => {
      tour.chapter('See it: the viewer is open on the step that went wrong')
      tour.lines(url, '', 'Press f to fork there, ? for all keys.')
      tour.say(ending(folder, tour))
      tour.say('\nThe viewer is served until Ctrl-C.')
      return openBrowser(url)
    },
  })
}

interface ShownRun {
  readonly store: RunStore
  readonly run: string
  readonly step: string
}
