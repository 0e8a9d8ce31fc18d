import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { planFork } from '@retake/engine'
import type { ForkOptions } from '@retake/engine'
import { answerPayload } from '@retake/tape'
import type { Payload, Tape } from '@retake/tape'
import { Interrupted } from './agent-process.js'
import { editedNotJson, editorFailed, nothingEdited } from './errors/branches.js'
import { noSuchStep } from './errors/runs.js'
import { errorLines, explain } from './print-error.js'
import { viewRun } from './view-run.js'

/**
 * Opens the answer of a step in the user's editor and gives back what was saved,
 * as the whole answer. What does not parse, or is no answer of that provider, is
 * said on the terminal and can be corrected; elsewhere it is an error.
 */
export async function editPayload(
  tape: Tape,
  options: ForkOptions,
): Promise<Pick<ForkOptions, 'payload'>> {
  const view = viewRun(tape)
  const step = view.step(options.at)
  if (step === undefined) throw noSuchStep(view.id, String(options.at), view.recordedSteps.length)
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-edit-'))
  try {
    const payload = answerPayload(tape, step)
    const before = textOf(payload)
    const file = path.join(folder, `step-${step.label}.${isText(payload) ? 'txt' : 'json'}`)
    writeFileSync(file, before, { mode: 0o600 })
    for (;;) {
      openEditor(file)
      const after = readFileSync(file, 'utf8')
      if (after === before) throw nothingEdited(step.label)
      try {
        const edited = { kind: payload.kind, data: dataOf(payload, after) }
        planFork(tape, { ...options, payload: edited })
        return { payload: edited }
      } catch (error) {
        await offerAnotherTry(error)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const isText = ({ kind }: Payload): boolean => kind === 'text'

const textOf = (payload: Payload): string =>
  isText(payload)
    ? (payload.data as { text: string }).text
    : `${JSON.stringify(payload.data, undefined, 2)}\n`

function dataOf(payload: Payload, text: string): unknown {
  if (isText(payload)) return { text }
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw editedNotJson(cause)
  }
}

function openEditor(file: string): void {
  const editor = process.env['VISUAL'] || process.env['EDITOR'] || 'vi'
  // A shell, because the variable may hold arguments: "code --wait".
  const { status, error } = spawnSync(`${editor} "$RETAKE_EDIT_FILE"`, {
    shell: true,
    stdio: 'inherit',
    env: { ...process.env, RETAKE_EDIT_FILE: file },
  })
  if (error !== undefined || status !== 0) throw editorFailed(editor, status)
}

async function offerAnotherTry(error: unknown): Promise<void> {
  const explained = explain(error)
  if (explained === undefined || !process.stdin.isTTY) throw error
  process.stderr.write(errorLines(explained))
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const said = await lines.question('Edit it again? [Y/n] ')
    if (/^n/i.test(said)) throw new Interrupted('SIGINT')
  } finally {
    lines.close()
  }
}
