import { painter, printJson, widthOf } from '../terminal/terminal.js'
import { DIR_OPTION, flag, text, usageError, type Verb } from '../command-line/verb.js'
import { DIFF_AREAS, type DiffArea, diffRuns, type RunDiff } from '@retake/diagnose'
import type { RunView } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { diffLines, sharedDescent, stepDiffLines } from '../compare/diff-lines.js'
import { errors } from '@retake/engine/errors'
import { FOUND } from '../command-line/exit-codes.js'
import { RunStore } from '../runs/run-store.js'
import { viewRun } from '../runs/view-run.js'

export default {
  arguments: '<a> <b>',
  description: `Aligns the steps of two runs and shows the first difference, then all of them: messages,
tool calls and results, tools of MCP servers, requests, output, tokens and cost. Times are shown
but never count as a difference; headers and generated ids are ignored. Exit code 3 if the runs
differ.`,
  options: {
    '--step <N>': 'compare one step: its number in <a>, or in <b> if only <b> has it',
    '--only <area>': `compare only ${DIFF_AREAS.slice(0, -1).join(', ')} or ${DIFF_AREAS.at(-1)}; separate several with commas`,
    '--full': 'print values in full, every step and every line',
    ...DIR_OPTION,
    '--json': 'print everything as JSON',
  },
  examples: [
    'retake diff 20261115-0930 last',
    'retake diff 20261115-0930 last --only tools',
    'retake diff 20261115-0930 last --step 3 --full',
    'retake diff 20261115-0930 last --json | jq .first',
  ],
  run(values, [a = '', b = '']) {
    const only = areasOf(text(values, 'only'))
    const store = new RunStore(text(values, 'dir'))
    const paths = [store.find(a), store.find(b)] as const
    const tapes = [openTape(paths[0]), openTape(paths[1])] as const
    const views = [viewRun(tapes[0]), viewRun(tapes[1])] as const
    const label = text(values, 'step')
    if (label !== undefined) checkStep(label, views)
    const whole = diffRuns(...views, {
      ...(only !== undefined && { only }),
      shared: sharedDescent(...tapes),
    })
    const found = label === undefined ? whole : onlyStep(whole, label)
    if (flag(values, 'json'))
      printJson(
        { ...found, a: { ...found.a, path: paths[0] }, b: { ...found.b, path: paths[1] } },
        2,
      )
    else print(found, { label, full: flag(values, 'full') })
    return Promise.resolve(found.equal ? 0 : FOUND)
  },
} satisfies Verb

function areasOf(names: string | undefined): readonly DiffArea[] | undefined {
  return names?.split(',').map((name) => {
    const area = DIFF_AREAS.find((each) => each === name.trim())
    if (area === undefined)
      throw usageError(`--only does not know "${name}".`, `It takes ${DIFF_AREAS.join(', ')}.`)
    return area
  })
}

function checkStep(label: string, [a, b]: readonly [RunView, RunView]): void {
  if (a.step(label) === undefined && b.step(label) === undefined)
    throw errors.NO_SUCH_STEP(a.id, label, a.recordedSteps.length)
}

/** The part of a comparison that is about one step. */
function onlyStep(whole: RunDiff, label: string): RunDiff {
  const steps = whole.steps.filter(({ a, b }) => (a ?? b)?.label === label)
  const { first: _, ...rest } = whole
  return { ...rest, equal: steps.length === 0, steps, toolLists: [], output: [], outcome: [] }
}

function print(
  found: RunDiff,
  { label, full }: { label: string | undefined; full: boolean },
): void {
  const look = { paint: painter(process.stdout), width: widthOf(process.stdout), full }
  if (label === undefined) console.log(diffLines(found, look).join('\n'))
  else if (found.equal) console.log(`Step ${label} is the same in both runs.`)
  else console.log(found.steps.flatMap((step) => stepDiffLines(step, look)).join('\n'))
}
