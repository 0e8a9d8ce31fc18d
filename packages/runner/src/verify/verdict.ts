import path from 'node:path'
import { defined } from '@retake/tape/format'
import { openTape } from '@retake/tape/node'
import { divergenceAdvice, divergenceReport } from '../agent/divergence.js'
import { fromHere, PLAIN_LOOK } from '../terminal/terminal.js'
import type { VerifiedTape } from './verify-tape.js'
import { appendFileSync } from 'node:fs'

/** Escapes text for XML 1.0 and drops characters that it cannot represent. */
export const xmlText = (text: string): string =>
  text.replaceAll(FORBIDDEN, '').replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')

/** The same for an attribute, where a bare line break would become a space. */
export const xmlAttribute = (text: string): string =>
  xmlText(text).replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)

/** Forbidden in XML 1.0: control characters, lone surrogates, U+FFFE and U+FFFF. */
const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

export interface JunitCase {
  readonly tape: string
  readonly name: string
  readonly seconds: number
  readonly properties: Readonly<Record<string, string | number | undefined>>
  readonly outcome: 'passed' | 'failed' | 'error' | 'skipped'
  readonly message: string
  readonly type: string
  readonly text: string
}

/** JUnit XML: a test case per tape, a suite per folder. */
export function junitReport(name: string, cases: readonly JunitCase[], startedAt: Date): string {
  const folders = [...new Set(cases.map(({ tape }) => path.dirname(tape)))]
  const suites = folders.flatMap((folder) => {
    const members = cases.filter(({ tape }) => path.dirname(tape) === folder)
    const timestamp = startedAt.toISOString().replace(/\.\d+Z$/, '')
    return [
      `  <testsuite${attributes({ name: folder, timestamp, ...countsOf(members) })}>`,
      ...members.flatMap(testCase),
      '  </testsuite>',
    ]
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name, ...countsOf(cases) })}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase({ tape, name, seconds, properties, ...outcome }: JunitCase): string[] {
  const file = path.basename(tape)
  return [
    `    <testcase${attributes({
      name: name === file ? file : `${name} (${file})`,
      classname: path.dirname(tape),
      file: tape,
      time: seconds.toFixed(3),
    })}>`,
    '      <properties>',
    ...Object.entries(properties)
      .filter(([, value]) => value !== undefined)
      .map(
        ([key, value]) => `        <property${attributes({ name: key, value: String(value) })}/>`,
      ),
    '      </properties>',
    ...outcomeLines(outcome),
    '    </testcase>',
  ]
}

function outcomeLines({
  outcome,
  message,
  type,
  text,
}: Pick<JunitCase, 'outcome' | 'message' | 'type' | 'text'>): string[] {
  if (outcome === 'passed') return []
  if (outcome === 'skipped') return [`      <skipped${attributes({ message })}/>`]
  const tag = outcome === 'failed' ? 'failure' : 'error'
  return [`      <${tag}${attributes({ message, type })}>${xmlText(text)}</${tag}>`]
}

function countsOf(cases: readonly JunitCase[]): Record<string, string> {
  const count = (outcome: JunitCase['outcome']): string =>
    String(cases.filter((each) => each.outcome === outcome).length)
  return {
    tests: String(cases.length),
    failures: count('failed'),
    errors: count('error'),
    skipped: count('skipped'),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  }
}

const attributes = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}="${xmlAttribute(value)}"`)
    .join('')

type Environment = Readonly<Record<string, string | undefined>>

/** GitHub's limit per kind and step. */
const ANNOTATIONS_MAX = 10
/** GitHub allows a megabyte, but less is easier to read. */
const ROWS_MAX = 500

export const isGithub = (env: Environment): boolean => env['GITHUB_ACTIONS'] === 'true'

/** Workflow commands that annotate problems at the agent's line if known, else at the tape. */
export function annotations(verdicts: readonly ProofVerdict[], env: Environment): string[] {
  const root = env['GITHUB_WORKSPACE'] ?? process.cwd()
  return verdicts
    .filter(({ outcome }) => BAD.has(outcome))
    .slice(0, ANNOTATIONS_MAX)
    .map((verdict) => {
      const fields = Object.entries({
        ...(locationOf(verdict, root) ?? {
          file: inRepository(verdict.tape, root) ?? verdict.tape,
        }),
        title: `${verdict.outcome === 'failed' ? 'Does not replay' : 'Cannot be checked'}: ${verdict.name}`,
      })
      const properties = fields.map(
        ([name, value]) =>
          `${name}=${escapeData(value).replaceAll(':', '%3A').replaceAll(',', '%2C')}`,
      )
      return `::error ${properties.join(',')}::${escapeData(verdict.text)}`
    })
}

function locationOf({ site }: ProofVerdict, root: string): Record<string, string> | undefined {
  const [, file = '', line = '', col = ''] = /^(.*):(\d+):(\d+)$/s.exec(site ?? '') ?? []
  const known = file === '' ? undefined : inRepository(file, root)
  return known === undefined ? undefined : { file: known, line, col }
}

/** Undefined outside of the repository, which GitHub cannot show. */
function inRepository(file: string, root: string): string | undefined {
  const relative = path.relative(root, path.resolve(file))
  return relative.startsWith('..') || path.isAbsolute(relative)
    ? undefined
    : relative.replaceAll('\\', '/')
}

const escapeData = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

/** Adds a table of all tapes to the job summary, problems first. */
export function appendSummary(verdicts: readonly ProofVerdict[], env: Environment): void {
  const file = env['GITHUB_STEP_SUMMARY']
  if (file === undefined || file === '') return
  const bad = verdicts.filter(({ outcome }) => BAD.has(outcome))
  const sorted = [...bad, ...verdicts.filter(({ outcome }) => !BAD.has(outcome))]
  const rows = sorted.map(({ outcome, name, tape, verified, seconds }) => [
    `${MARKS[outcome]} ${markdownText(name)}`,
    markdownCode(tape),
    verified.integrity,
    verified.replay,
    `${seconds.toFixed(1)} s`,
    markdownText(verified.detail),
  ])
  const lines = [
    `### Retake: ${summaryOf(verdicts.map(({ verified }) => verified))}`,
    '',
    ...markdownTable(['run', 'tape', 'bytes', 'replay', 'took', ''], rows, ROWS_MAX),
    '',
  ]
  try {
    appendFileSync(file, lines.join('\n'))
  } catch (error) {
    process.stderr.write(`the summary could not be written: ${String(error)}\n`)
  }
}

/** Cells are Markdown. Rows beyond `max` are only counted. */
export const markdownTable = (
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  max: number,
): string[] => [
  `| ${heads.join(' | ')} |`,
  `|${'---|'.repeat(heads.length)}`,
  ...rows.slice(0, max).map((cells) => `| ${cells.join(' | ')} |`),
  '',
  ...(rows.length > max ? [`and ${rows.length - max} more`, ''] : []),
]

const BAD: ReadonlySet<JunitCase['outcome']> = new Set(['failed', 'error'])
const MARKS = { passed: '✅', failed: '❌', error: '⚠️', skipped: '➖' } as const

export const markdownText = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, '\\$&')

export const markdownCode = (text: string): string =>
  `<code>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;').replaceAll(/\s+/g, ' ')}</code>`

/** One-line result for a set of tapes: how many are intact and replayed, and why others are not. */
export function summaryOf(results: readonly VerifiedTape[]): string {
  const count = (fits: (result: VerifiedTape) => boolean): number => results.filter(fits).length
  const some = (fits: (result: VerifiedTape) => boolean, words: string): string[] =>
    results.some(fits) ? [`${count(fits)} ${words}`] : []
  const reasons = new Set(results.flatMap(({ notReplayed }) => notReplayed ?? []))
  const notReplayed = [...reasons]
    .filter((reason) => !STATED_REASONS.has(reason))
    .map((reason) => `${count((result) => result.notReplayed === reason)} not replayed (${reason})`)
  return [
    `${count(({ integrity }) => integrity === 'intact')} intact`,
    ...INTEGRITIES.flatMap(([word, said]) => some(({ integrity }) => integrity === word, said)),
    ...REPLAYS.flatMap(([word, said]) => some(({ replay }) => replay === word, said)),
    ...notReplayed,
  ].join(', ')
}

const INTEGRITIES: [VerifiedTape['integrity'], string][] = [
  ['cut off', 'cut off'],
  ['damaged', 'damaged'],
  ['unreadable', 'unreadable'],
  ['recording', 'still being recorded'],
]
const REPLAYS: [VerifiedTape['replay'], string][] = [
  ['identical', 'replayed identically'],
  ['same output', 'replayed with the same output, not isolated'],
  ['diverged', 'diverged'],
  ['failed', 'failed to replay'],
]

/** Reasons that the first half of the line already states. */
const STATED_REASONS = new Set(['damaged', 'unreadable', 'still being recorded'])

/** A verified tape as a test case. */
export interface ProofVerdict extends JunitCase {
  /** Location in the agent's code, as `file:line:column`. */
  readonly site: string | undefined
  readonly verified: VerifiedTape
}

/** Describes a verified tape for reports. `wanted`: the program should have been replayed. */
export function verdictOf(verified: VerifiedTape, ms: number, wanted: boolean): ProofVerdict {
  const { tape, run, detail, integrity, replay, events, replayed, notReplayed } = verified
  const site = replayed?.divergences[0]?.site
  // `error`: it could not be checked. `failed`: it was checked, and something is wrong.
  const failure = integrity === 'unreadable' || replay === 'failed' ? 'error' : 'failed'
  const success = wanted && replay === 'not tried' ? 'skipped' : 'passed'
  const outcome = verified.ok ? success : failure
  return {
    outcome,
    tape,
    name: verified.name ?? path.basename(tape),
    seconds: Math.round(ms) / 1000,
    properties: { tape, run, integrity, replay, events, served: replayed?.served, site },
    message: outcome === 'skipped' ? (notReplayed ?? detail) : detail,
    type: verified.error?.code ?? (replay === 'diverged' ? 'diverged' : integrity),
    text: textOf(verified),
    site,
    verified,
  }
}

function textOf({ tape: file, ok, detail, error, replayed }: VerifiedTape): string {
  if (ok) return ''
  if (error !== undefined)
    return [error.what, `why  ${error.why}`, `fix  ${error.fix}`, `code ${error.code}`].join('\n')
  if (replayed === undefined || replayed.divergences.length === 0) return detail
  const tape = openTape(file)
  return replayed.divergences
    .map((divergence) => {
      const { changedCode } = replayed
      const option = changedCode === undefined ? '' : ' --code recorded'
      const advice = divergenceAdvice(tape, divergence, defined({ changedCode }))
      const fix = [...advice, `retake replay ${fromHere(file)}${option}`]
      return divergenceReport(tape, divergence, PLAIN_LOOK, { fix }).join('\n')
    })
    .join('\n\n')
}
