import { parseChoice, DIR_OPTION, usageError, type Verb } from '@retake/runner/command-line'
import { DIFF_AREAS, diffRuns, type RunDiff } from '@retake/tape/diff'
import { openTape } from '@retake/tape/node'
import { comparisonLines, sharedDescent, stepDiffLines } from '@retake/runner/terminal'
import { errors } from '@retake/engine/errors'
import { FOUND } from '@retake/runner/command-line'
import { viewRun } from '@retake/runner/runs'

export default {
  arguments: '<a> [b]',
  description: `Aligns the steps of two runs and shows the first difference, then all others:
messages, tool calls and results, MCP tool lists, requests, output, tokens and cost. Durations are
shown but not compared; headers and generated ids are ignored. Exit code 3 if the runs differ.

With --code, shows how the code of two runs differs, or without <b>, how today's code differs from
that of the run: files, packages and Node, and the first step that behaves differently.`,
  options: {
    '--step <N>': 'compare one step: its number in <a>, or in <b> if only <b> has it',
    '--only <area>': `compare only ${DIFF_AREAS.slice(0, -1).join(', ')} or ${DIFF_AREAS.at(-1)}; separate several with commas`,
    '--full': 'print values in full, every step and every line',
    '--code': 'compare the code of two runs, or of a run and today',
    ...DIR_OPTION,
  },
  examples: [
    'retake diff 20261115-0930 last',
    'retake diff 20261115-0930 last --only tools',
    'retake diff 20261115-0930 last --step 3 --full',
    'retake diff 20261115-0930 last --json | jq .first',
    'retake diff last --code',
  ],
  async run(options, [a = '', b]) {
    if (options.flag('code')) {
      const conflict = ['step', 'only'].find((name) => options.has(name))
      if (conflict !== undefined)
        throw usageError(`--code and --${conflict} cannot be combined.`, 'Use one of them.')
      const { diffCode } = await import('./diff-code.js')
      return diffCode(options.openRun(a), b === undefined ? undefined : options.openRun(b), options)
    }
    if (b === undefined)
      throw usageError('Missing argument <b>.', 'Name two runs, or compare code with --code.')
    const only = options
      .text('only')
      ?.split(',')
      .map((area) => parseChoice('only', area.trim(), DIFF_AREAS))
    const store = options.store
    const paths = [store.find(a), store.find(b)] as const
    const tapes = [openTape(paths[0]), openTape(paths[1])] as const
    const views = [viewRun(tapes[0]), viewRun(tapes[1])] as const
    const label = options.text('step')
    if (label !== undefined && views.every((view) => view.step(label) === undefined))
      throw errors.NO_SUCH_STEP(views[0].id, label, views[0].recordedSteps.length)
    const whole = diffRuns(...views, {
      ...(only !== undefined && { only }),
      shared: sharedDescent(...tapes),
    })
    const found = label === undefined ? whole : onlyStep(whole, label)
    options.print(
      { ...found, a: { ...found.a, path: paths[0] }, b: { ...found.b, path: paths[1] } },
      (plain) => {
        const look = { ...plain, full: options.flag('full') }
        if (label === undefined) return comparisonLines(found, look)
        if (found.equal) return [`Step ${label} is the same in both runs.`]
        return found.steps.flatMap((step) => stepDiffLines(step, look))
      },
      2,
    )
    return found.equal ? 0 : FOUND
  },
} satisfies Verb

function onlyStep(whole: RunDiff, label: string): RunDiff {
  const steps = whole.steps.filter(({ a, b }) => (a ?? b)?.label === label)
  const { first: _, ...rest } = whole
  return { ...rest, equal: steps.length === 0, steps, toolLists: [], output: [], outcome: [] }
}
