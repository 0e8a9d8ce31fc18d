import { createInterface } from 'node:readline'
import { attempt, toWire } from '@retake/tape/format'
import { argumentLines, visibleText } from '@retake/tape/present'
import { outsideRuns } from '@retake/engine/hook'
import type { ApprovalDecision, ApprovalRequest } from './request-approval.js'
import { userInfo } from 'node:os'

export const hasTerminal = (): boolean => process.stdin.isTTY && process.stderr.isTTY

let last: Promise<unknown> = Promise.resolve()

/** Prompts on the terminal, one call at a time. Only `yes` approves. */
export function promptTerminal(
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalDecision> {
  const prompted = last.then(async () => {
    signal.throwIfAborted()
    process.stderr.write(`\n${promptLines(request).join('\n')}\n`)
    const answer = await readAnswer('approve? [yes/No, or a reason why not] ', signal)
    const by = userName()
    if (/^y(?:es)?$/i.test(answer)) return { approved: true, by }
    const reason = /^n?o?$/i.test(answer) ? undefined : answer
    return { approved: false, by, ...(reason !== undefined && { reason }) }
  })
  last = prompted.catch(() => {})
  return prompted
}

/** The prompt, with control and invisible characters escaped so that arguments cannot forge a line. */
export const promptLines = ({ guard, tool, args, rule, why, lastApproved }: ApprovalRequest) => [
  ...[
    `${guard}: tool "${tool}" waits for approval`,
    ...(why === '' ? [] : [`why: ${why}`]),
    `rule: ${rule}`,
  ].map((line, index) => (index === 0 ? '' : '  ') + visibleText(line)),
  ...argumentLines(toWire(args), lastApproved).map((line) => `  ${line}`),
]

function readAnswer(prompt: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise<string>((resolve, reject) => {
    lines.question(prompt, { signal }, (answer) => resolve(answer.trim()))
    // Ctrl-C ends the program and decides nothing.
    lines.once('SIGINT', () => {
      reject(new Error('it was interrupted'))
      lines.close()
      outsideRuns(() => process.kill(process.pid, 'SIGINT'))
    })
    lines.once('close', () => resolve(''))
    signal.addEventListener('abort', () => reject(new Error('there was no decision in time')), {
      once: true,
    })
  }).finally(() => lines.close())
}

/** Name of the current user. A container may have no entry for the user id. */
export const userName = (): string => attempt(() => userInfo().username, 'somebody')
