import { stringify } from 'yaml'
import { plural } from '../facts.js'
import { plainText, plainValue } from '../plain-value.js'
import { painter } from '../terminal.js'
import type { RecordedCall } from './recorded-calls.js'
import type { Suggestion } from './suggest-rule.js'

/** The rule goes to stdout, as YAML to be put into a policy; what speaks for it to stderr. */
export function writeSuggestion(suggestion: Suggestion, json: boolean): void {
  if (json) {
    console.log(JSON.stringify(suggestionJson(suggestion)))
    return
  }
  console.log(stringify([suggestion.rule]).trimEnd())
  process.stderr.write(`${evidenceLines(suggestion).join('\n')}\n`)
}

const suggestionJson = ({ blocks, alsoBlocks, evidence, ...rest }: Suggestion): unknown => ({
  ...rest,
  blocks: callJson(blocks),
  alsoBlocks: alsoBlocks.map(callJson),
  evidence: evidence.map(({ here, ...each }) => ({ ...each, here: plainValue(here) })),
})

const callJson = ({ run, step, isNested, tool, args, status }: RecordedCall): unknown => ({
  run,
  step,
  ...(isNested && { isNested }),
  tool,
  args: plainValue(args),
  status,
})

const labelOf = ({ step, isNested }: RecordedCall): string => (isNested ? `${step} (inside)` : step)

function evidenceLines(suggestion: Suggestion): string[] {
  const { blocks, alsoBlocks, passing, evidence, tooBroad } = suggestion
  const paint = painter(process.stderr)
  return [
    '',
    `${paint('green', 'blocks')}  step ${blocks.step} of run ${blocks.run}: ${blocks.tool}`,
    ...(alsoBlocks.length === 0
      ? []
      : [`        and in the same run step ${alsoBlocks.map(labelOf).join(', ')}`]),
    ...(passing.runs === 0
      ? []
      : [
          `${paint('green', 'spares')}  all ${plural(passing.calls, 'call')} of ${plural(passing.runs, 'run')} that passed, ${passing.ofTool} of them of this tool`,
        ]),
    ...evidence.map(
      ({ path, here, passing: there }) =>
        `        ${path}: ${plainText(here)} here, ${there} in runs that passed`,
    ),
    ...(tooBroad.length === 0 ? [] : ['', 'Simpler, but too broad:']),
    ...tooBroad.map(
      ({ rule, blocked }) =>
        `  ${JSON.stringify(rule)} blocks ${plural(blocked, 'call')} of runs that passed`,
    ),
    ...(passing.runs === 0
      ? [
          '',
          'No other run that passed was found, so the rule is not tried on any: --tapes names a folder.',
        ]
      : []),
  ]
}
