import { clipText, errorName, type Tape } from '@retake/tape'
import { readOutcome } from './oracle.js'

/** `--expect <text>` as an oracle. */
export const expectedText = (text: string): string =>
  text.startsWith('/')
    ? `stdout:/${text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)}/`
    : `stdout:${text}`

/**
 * Suggests an oracle from how a run failed, compared with correct runs with the same arguments: an
 * uncaught error, an exit code, or a last line that the others do not print.
 */
export function suggestOracle(
  tape: Tape,
  references: readonly Tape[],
): { readonly oracle: string; readonly why: string } | undefined {
  const { error, exitCode, signal, stdout, ended } = readOutcome(tape)
  if (error !== undefined)
    return {
      oracle: 'exit:0',
      why: `the run ended with ${errorName(error)}: ${clipText(error.message.split('\n')[0] ?? '', 60)}`,
    }
  if (signal !== undefined) return { oracle: 'exit:0', why: `the run was killed by ${signal}` }
  if (exitCode !== undefined && exitCode !== 0)
    return { oracle: 'exit:0', why: `the run ended with exit code ${exitCode}` }
  if (!ended) return undefined
  const here = lastLine(stdout)
  const lines = new Map<string, string[]>()
  for (const other of references) {
    const outcome = readOutcome(other)
    const line = lastLine(outcome.stdout)
    const isFine = outcome.ended && (outcome.exitCode ?? 0) === 0 && outcome.error === undefined
    if (isFine && line !== '' && line !== here)
      lines.set(line, [...(lines.get(line) ?? []), other.run.id])
  }
  const [usual] = [...lines].toSorted(([, a], [, b]) => b.length - a.length)
  if (usual === undefined) return undefined
  const [line, [run]] = usual
  return {
    oracle: expectedText(line),
    why: `run ${run} printed that; this run printed ${JSON.stringify(clipText(here, 60))}`,
  }
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1)?.trim() ?? ''
