import { errorTable } from '@retake/tape/format'

export const policyFileErrors = errorTable({
  POLICY_UNREADABLE: (
    file: string,
    said: string,
    fix = 'Write a policy as YAML, JSON, or the default export of a JavaScript or TypeScript file.',
  ) => [`The policy ${file} cannot be read.`, `${said.replace(/\.$/, '')}.`, fix],
  POLICY_FILE_INVALID: (file: string, problems: readonly string[]) => [
    `The policy ${file} has errors.`,
    `A misspelled rule would have no effect, so Retake does not guess: ${problems.join(' ')}`,
    `Correct the file. \`retake guard policy check ${file}\` lists the problems, one per line.`,
  ],
  STEP_NOT_A_TOOL_CALL: (run: string, label: string, steps: readonly string[]) => [
    `Step ${label} of run ${run} is not a tool call.`,
    `Its tool calls are steps: ${steps.join(', ') || 'none'}.`,
    `Choose a tool call; \`retake show ${run}\` lists all steps.`,
  ],
  RULE_NOT_FOUND: (run: string, label: string, passing: number) => [
    `No rule was found that blocks step ${label} of run ${run} and allows the runs that passed.`,
    `Its tool, arguments and history look like those of calls in the ${passing} runs that passed.`,
    'Write a rule by hand and check it with `retake guard policy test`, or exclude runs that should not have passed.',
  ],
})
