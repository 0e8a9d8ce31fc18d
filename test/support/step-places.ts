import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTape, readRun } from 'retake'

/** Path of the only tape in a workspace. */
export function onlyTape(folder: string): string {
  const runs = join(folder, '.retake', 'runs')
  const tapes = readdirSync(runs).filter((name) => name.endsWith('.tape'))
  if (tapes.length !== 1) throw new Error(`${tapes.length} tapes, not one`)
  return join(runs, String(tapes[0]))
}

/** A line for each request or tool: the last message that was sent, and the places it started in. */
export function stepPlaces(tape: string): string[] {
  const steps = readRun(openTape(tape)).steps.filter(({ inferred }) => !inferred)
  return steps.map((step) => {
    const path = step.within.map(({ kind, name }) => `${kind} ${name}`).join(' > ')
    const parts = step.exchange()?.messages.at(-1)?.parts ?? []
    const [asked] = parts.map((part) =>
      part.type === 'text' ? part.text : part.type === 'tool_result' ? 'result' : part.type,
    )
    return `${asked ?? step.title} | ${path}`
  })
}
