import { existsSync } from 'node:fs'
import path from 'node:path'
import type { RunFacts } from '@retake/server'
import { checkIntact } from '@retake/engine/runs'
import { messageText, type RunView, TapeError, attempt } from '@retake/tape'
import { openOwnTape, openTape } from '@retake/tape/node'
import { clusterKey } from '@retake/lab/fix'
import { SECRET_RULES, secretsIn } from '@retake/runner/privacy'
import { summarizeRun } from '@retake/runner/runs'
import { viewRun } from '@retake/runner/runs'

/** Facts about a pushed tape, by kind of work. */
export interface TapeReading {
  /** `missingParent`: a branch can only be read with its ancestors. */
  readonly facts: RunFacts | { readonly missingParent: string }
  readonly secrets: readonly string[]
}

/** Number of searchable characters per run. */
const TEXT_MAX = 150_000
const MESSAGE_MAX = 4000

export const readPushedTape: {
  readonly [Name in keyof TapeReading]: (file: string) => TapeReading[Name]
} = {
  facts: describeTape,
  secrets: (file) => secretsIn(file).map(({ rule, where }) => `${SECRET_RULES[rule]} (${where})`),
}

function describeTape(file: string): TapeReading['facts'] {
  const parent = openOwnTape(file).run.parent?.run
  if (parent !== undefined && !existsSync(path.join(path.dirname(file), `${parent}.tape`)))
    return { missingParent: parent }
  const tape = openTape(file)
  checkIntact(tape)
  const row = summarizeRun(tape.run.id, file)
  if ('error' in row) {
    const { code, what, why, fix } = row.error
    throw new TapeError(code, what, why, fix)
  }
  const view = viewRun(tape)
  // A stored tape is never written again, so without an end its process was killed.
  const status = row.status === 'recording' ? 'killed' : row.status
  const cluster =
    status === 'done'
      ? undefined
      : attempt(() => clusterKey(tape, row.failure ?? ''))?.slice(0, 200)
  return {
    card: { ...row, status },
    events: tape.count,
    tools: [...new Set(view.recordedSteps.flatMap(({ toolName }) => toolName ?? []))].slice(0, 100),
    text: textOf(view),
    ...(cluster !== undefined && { cluster }),
  }
}

/** Prompts, answers, arguments and output of a run, shortened. */
function textOf(view: RunView): string {
  const parts: string[] = []
  let length = 0
  const add = (text: string): void => {
    const part = text.slice(0, MESSAGE_MAX)
    parts.push(part)
    length += part.length
  }
  let read = 0
  for (const step of view.recordedSteps) {
    if (length > TEXT_MAX) break
    add(step.title)
    const messages = attempt(() => step.messages(), [])
    // Every call repeats the earlier conversation.
    for (const message of messages.slice(read)) add(messageText(message))
    read = Math.max(read, messages.length)
    for (const message of attempt(() => step.answer(), [])) add(messageText(message))
    for (const { args } of step.toolCalls) add(JSON.stringify(args) ?? '')
  }
  for (const event of view.outputs) {
    if (length > TEXT_MAX) break
    add(Buffer.from(view.outputBytes(event)).toString())
  }
  return parts.join('\n').slice(0, TEXT_MAX)
}
