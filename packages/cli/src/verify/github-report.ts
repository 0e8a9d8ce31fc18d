import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { summaryOf } from './summary.js'
import type { Verdict } from './verdict.js'

type Environment = Readonly<Record<string, string | undefined>>

/** GitHub shows no more of one kind for a step. */
const ANNOTATIONS_MAX = 10
/** A summary may have a megabyte; nobody reads that much. */
const ROWS_MAX = 500

/** Whether this is a step of a GitHub workflow. */
export const isGithub = (env: Environment): boolean => env['GITHUB_ACTIONS'] === 'true'

/** Workflow commands that mark what is wrong, at the line of the agent if it is known, else at the tape. */
export function annotations(verdicts: readonly Verdict[], env: Environment): string[] {
  const root = env['GITHUB_WORKSPACE'] ?? process.cwd()
  return verdicts
    .filter(isBad)
    .slice(0, ANNOTATIONS_MAX)
    .map((verdict) => {
      const fields = Object.entries({
        ...(placeOf(verdict, root) ?? { file: inRepository(verdict.tape, root) ?? verdict.tape }),
        title: `${TITLES[verdict.outcome]}: ${verdict.name}`,
      })
      const properties = fields.map(([name, value]) => `${name}=${escapeProperty(value)}`).join(',')
      return `::error ${properties}::${escapeData(verdict.text)}`
    })
}

const TITLES = {
  passed: '',
  skipped: '',
  failed: 'Does not replay',
  error: 'Cannot be checked',
} as const

interface Place {
  readonly file: string
  readonly line: string
  readonly col: string
}

function placeOf({ site }: Verdict, root: string): Place | undefined {
  const [, file = '', line = '', col = ''] = /^(.*):(\d+):(\d+)$/s.exec(site ?? '') ?? []
  const known = file === '' ? undefined : inRepository(file, root)
  return known === undefined ? undefined : { file: known, line, col }
}

/** Undefined outside of the repository: GitHub could not show it. */
function inRepository(file: string, root: string): string | undefined {
  const relative = path.relative(root, path.resolve(file))
  return relative.startsWith('..') || path.isAbsolute(relative)
    ? undefined
    : relative.replaceAll('\\', '/')
}

const escapeData = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const escapeProperty = (text: string): string =>
  escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')

/** Adds a table of all tapes to the summary of the job, what is wrong first. */
export function appendSummary(verdicts: readonly Verdict[], env: Environment): void {
  const file = env['GITHUB_STEP_SUMMARY']
  if (file === undefined || file === '') return
  try {
    appendFileSync(file, markdownOf(verdicts))
  } catch (error) {
    process.stderr.write(`the summary could not be written: ${String(error)}\n`)
  }
}

function markdownOf(verdicts: readonly Verdict[]): string {
  const bad = verdicts.filter(isBad)
  const sorted = [...bad, ...verdicts.filter((verdict) => !isBad(verdict))]
  const rows = sorted
    .slice(0, ROWS_MAX)
    .map(({ outcome, name, tape, summary, verified, seconds }) =>
      [
        `${MARKS[outcome]} ${cell(name)}`,
        code(tape),
        verified.integrity,
        verified.replay,
        `${seconds.toFixed(1)} s`,
        cell(summary),
      ].join(' | '),
    )
  const more = sorted.length - rows.length
  return [
    `### Retake: ${summaryOf(verdicts.map(({ verified }) => verified))}`,
    '',
    '| run | tape | bytes | replay | took | |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    ...(more > 0 ? ['', `and ${more} more`] : []),
    '',
    '',
  ].join('\n')
}

const MARKS = { passed: '✅', failed: '❌', error: '⚠️', skipped: '➖' } as const

const isBad = ({ outcome }: Verdict): boolean => outcome === 'failed' || outcome === 'error'

/** Text that is no markup, in one line. */
const cell = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, '\\$&')

const code = (text: string): string =>
  `<code>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;').replaceAll(/\s+/g, ' ')}</code>`
