import { RetakeError } from '@retake/engine/errors'

export const policyUnreadable = (
  place: string,
  said: string,
  fix = 'A policy is YAML, JSON, or the default export of a JavaScript or TypeScript file.',
): RetakeError =>
  new RetakeError(
    'POLICY_UNREADABLE',
    `The policy ${place} cannot be read.`,
    `${said.replace(/\.$/, '')}.`,
    fix,
  )

export const policyInvalid = (file: string, problems: readonly string[]): RetakeError =>
  new RetakeError(
    'POLICY_INVALID',
    `The policy ${file} says something that Retake does not understand.`,
    'A rule that is misspelt would be one without effect, so nothing is guessed.',
    'Correct these places:',
    { details: problems },
  )

export const noSuchToolStep = (run: string, label: string, steps: readonly string[]): RetakeError =>
  new RetakeError(
    'NO_SUCH_STEP',
    `Step ${label} of run ${run} is no tool call.`,
    steps.length === 0
      ? 'The run has no tool calls.'
      : steps.length === 1
        ? `Its only tool call is step ${steps[0]}.`
        : `Its tool calls are steps ${steps.join(', ')}.`,
    `A rule is about tool calls; \`retake show ${run}\` lists all steps.`,
  )

export const ruleNotFound = (run: string, label: string, passing: number): RetakeError =>
  new RetakeError(
    'RULE_NOT_FOUND',
    `No rule was found that blocks step ${label} of run ${run} and spares the runs that passed.`,
    `Its tool, arguments and history look like those of calls in the ${passing} runs that passed.`,
    'Write a rule by hand and try it with `retake policy test`, or leave runs out that should not have passed.',
  )

export const approvalNotPending = (id: string): RetakeError =>
  new RetakeError(
    'APPROVAL_NOT_PENDING',
    `No call waits for approval under ${id}.`,
    'It was decided, its time ran out, its program ended, or it never was there.',
    '`retake approvals` lists the calls that wait.',
  )

export const toolNotGuardable = (name: string, what: string): RetakeError =>
  new RetakeError(
    'TOOL_NOT_GUARDABLE',
    `"${name}" cannot be guarded.`,
    `It is ${what}, which a guard has no way to stand in front of.`,
    'Leave it out of guardTools and hand it to the agent beside the guarded ones, if it may run unguarded.',
  )

export const mcpClientConnected = (): RetakeError =>
  new RetakeError(
    'MCP_CLIENT_CONNECTED',
    'An MCP client was guarded after it had connected.',
    'Inside a recording its messages are on the tape already, and guarded calls would be there twice.',
    'Call guardTools(run, client) before client.connect(transport).',
  )
