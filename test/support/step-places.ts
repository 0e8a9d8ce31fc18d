import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTape, readRun } from 'retake'

/** Paths of the tapes in a workspace. */
export function tapesIn(folder: string): string[] {
  const runs = join(folder, '.retake', 'runs')
  return readdirSync(runs)
    .filter((name) => name.endsWith('.tape'))
    .map((name) => join(runs, name))
}

/** The only one, but for those that are known. */
export function onlyTape(folder: string, known: readonly string[] = []): string {
  const [tape, ...others] = tapesIn(folder).filter((path) => !known.includes(path))
  if (tape === undefined || others.length > 0) throw new Error('there is not exactly one tape')
  return tape
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
