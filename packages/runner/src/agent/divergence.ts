import { readFileSync } from 'node:fs'
import { attempt } from '@retake/tape/format'
import { mismatchTexts } from '@retake/engine/errors'
import { capitalized } from '@retake/tape/present'
import type { Divergence, Mismatch, MovedRoot } from '@retake/engine'
import type { Consequence, NotCaptured, Tape } from '@retake/tape'
import { hasLockFile } from '../sources/install-packages.js'
import { codeNotStored } from '../sources/recorded-code.js'
import { hasRecordedCode, sourceListOf } from '../sources/source-store.js'
import { changedSources, packageChanges, packageChangeText } from '../sources/source-code.js'
import {
  fromHere,
  type Look,
  type Paint,
  printable,
  printableLine,
  type Style,
  wrap,
  linesOf,
} from '../terminal/terminal.js'
import { shellWord } from '../terminal/shell-word.js'
import { runName } from '../runs/run-store.js'
import { stepAt, viewRun } from '../runs/view-run.js'
import { type Excerpt, excerpts } from '../terminal/diff-lines.js'

/** More items are only counted. `retake show` lists all of them. */
const SHOWN_MAX = 5

function notCapturedFact({ what, at, isOutside, count, consequence }: NotCaptured): string {
  const unknown = isOutside ? '' : ' in a library'
  const where = at === undefined ? unknown : ` at ${fromHere(at).replace(/:\d+$/, '')}`
  const times = count > 1 ? ` (${count} times)` : ''
  return printableLine(`${what}${where}${times} — ${consequence}`)
}

export function notCapturedLines(list: readonly NotCaptured[], show: string): string[] {
  const more = list.length - SHOWN_MAX
  return [
    ...list.slice(0, SHOWN_MAX).map((each) => `not captured: ${notCapturedFact(each)}`),
    ...(more > 0 ? [`and ${more} more: ${show}`] : []),
  ]
}

/** Recorded output that is missing even in an identical replay. */
export function missingOutputLines(tape: Tape): string[] {
  const isMissing = (code: Consequence | undefined): boolean =>
    code === 'answers-missing' || code === 'lines-missing'
  for (const event of tape.events())
    if (event.type === 'note' && isMissing(event.consequence))
      return viewRun(tape)
        .notCaptured.filter(({ code }) => isMissing(code))
        .map((each) => `not repeated: ${notCapturedFact(each)}`)
  return []
}

/** The full text, with the reason below. */
export function notCapturedDetail(each: NotCaptured, width: number): string[] {
  return [
    `  ${notCapturedFact(each)}`,
    ...wrap(printable(each.why ?? ''), width - 4).map((line) => `    ${line}`),
  ]
}

export function divergenceReport(
  tape: Tape,
  divergence: Divergence,
  { paint, width }: Look,
  options: AdviceOptions & {
    /** Replaces the advice. */
    readonly fix?: readonly string[]
    readonly withTitle?: boolean
  } = {},
): string[] {
  const { explanation, mismatches, seq, site, summary } = divergence
  const fix = divergence.fix
    ? wrap(divergence.fix, width - 7)
    : (options.fix ?? divergenceAdvice(tape, divergence, options))
  const found = stepAt(viewRun(tape), seq)
  const title = options.withTitle ? ` ${found?.title}` : ''
  const step = found === undefined ? '' : ` · step ${found.label}${title}`
  return [
    `${paint('red', 'diverged')} at event ${seq} of ${tape.count}${step}`,
    ...wrap(printable(capitalized(summary)), width - 2).map((line) => `  ${line}`),
    // If the same call differs, the fields below explain it better.
    ...wrap(divergence.kind === 'different' ? '' : explanation, width - 2).map(
      (line) => `  ${line}`,
    ),
    ...mismatches
      .filter(({ isDigest }) => !isDigest)
      .flatMap((mismatch) => ['', ...mismatchLines(mismatch, paint, width)]),
    '',
    ...(site !== undefined
      ? [`  at   ${paint('cyan', fromHere(site))}`]
      : found?.site !== undefined
        ? [`  at   ${paint('cyan', fromHere(found.site))} when it was recorded`]
        : []),
    ...fix.map((line, index) => `  ${index === 0 ? 'fix ' : '    '} ${line}`),
  ]
}

function mismatchLines(mismatch: Mismatch, paint: Paint, width: number): string[] {
  const { field } = mismatch
  const [recorded = NOTHING, current = NOTHING] = mismatchTexts(mismatch)
  const [before, now] = excerpts(recorded, current, width - 6)
  const line = (sign: string, style: Style, { before: lead, differs, after }: Excerpt): string =>
    `  ${paint(style, `${sign} ${lead}`)}${differs && paint('bold', paint(style, differs))}${paint(style, after)}`
  return [`  ${paint('bold', printable(field))}`, line('-', 'red', before), line('+', 'green', now)]
}

const NOTHING = '(nothing)'

/** A value as text to search in. */
const show = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? NOTHING)

export interface AdviceOptions {
  /** Command that records the run again, if it differs from the one on the tape. */
  readonly again?: string
  /** Variables and files for which the program got placeholders, if known. */
  readonly placeholders?: readonly string[]
  /** Set if the program is replayed in a copy of its folder. */
  readonly root?: MovedRoot
  /** Set if this file ran instead of the recorded program. */
  readonly entry?: string
  /** Set if the recorded code ran instead of today's. */
  readonly changedCode?: readonly string[]
}

function recordCommand({ details, run }: Tape, moreMatchers: readonly string[] = []): string {
  const { entry = '', args = [], command, proxy } = details
  if (run.scope === 'function') return 'call record() in your program'
  if (command === undefined) return ['retake record', ...[entry, ...args].map(shellWord)].join(' ')
  const matchers = [...new Set([...(proxy?.matchers ?? []), ...moreMatchers])].flatMap(
    (matcher) => ['--matcher', matcher],
  )
  return [
    'retake record',
    ...(proxy?.tls ? ['--tls'] : []),
    ...[...matchers, '--', ...command].map(shellWord),
  ].join(' ')
}

const SUSPECTS_MAX = 5

/** How to ignore what differs in a request of a command, or to accept the difference. */
function matcherAdvice(tape: Tape, divergence: Divergence, again: string): string[] {
  const { matchers } = divergence.code === 'request-differs' ? divergence : {}
  if (matchers !== undefined)
    return [
      `Only ${matchers.join(' and ')} differ in this request. To ignore them, record again with:`,
      recordCommand(tape, matchers),
    ]
  return linesOf(
    divergence.kind === 'different' &&
      'Parts of requests that differ in each run need a matcher: see `retake docs proxy`.',
    'If the change is intended, record again:',
    again,
  )
}

/**
 * Advice about a divergence, one line each. If code or Node has changed, that is the reason.
 * Otherwise something is not captured, and the advice names candidates.
 */
export function divergenceAdvice(
  tape: Tape,
  divergence: Divergence,
  { again = recordCommand(tape), placeholders, root, entry, changedCode }: AdviceOptions = {},
): string[] {
  if (entry !== undefined)
    return [
      `${entry} ran instead of ${tape.details.entry}, and behaves differently.`,
      `Change ${entry}, or record it:`,
      ['retake record', ...[entry, ...(tape.details.args ?? [])].map(shellWord)].join(' '),
    ]
  // The sources of a command are unknown, so a change to them cannot be detected.
  if (tape.details.command !== undefined)
    return linesOf(
      'The command behaves differently than when it was recorded.',
      ...suspectsOf(tape, divergence, maskedVariables(tape)).slice(0, SUSPECTS_MAX),
      'Not recorded for a command: clock, random values, files, connections outside the proxy.',
      ...matcherAdvice(tape, divergence, again),
    )
  const isRecordedCode = changedCode !== undefined
  const changed = isRecordedCode ? [] : changedSources(tape, root)
  const files = changed.map(fromHere)
  const masked = changed.filter((file) => attempt(() => hasPlaceholder(file), false))
  const changes = [...files, ...packageChanges(tape, root).map(packageChangeText)]
  const suspects = suspectsOf(tape, divergence, placeholders ?? maskedVariables(tape))
  const { node } = tape.run
  const versions = `recorded with Node ${node}, replayed with ${process.version}.`
  const { code } = tape.details
  const hasList = isRecordedCode || code === undefined || sourceListOf(tape) !== undefined
  const listAdvice = hasList
    ? []
    : [codeNotStored(tape).why, 'So a file counts as changed if it was saved after the run began.']
  const unchanged = hasList ? 'The code is unchanged' : 'The code seems unchanged'
  if (changes.length > 0)
    return linesOf(
      `Changed since the recording: ${changes.join(', ')}.`,
      ...listAdvice,
      node !== process.version && capitalized(versions),
      masked.length > 0 &&
        `Secrets are masked in ${masked.map(fromHere).join(', ')}: write their values there.`,
      'Undo the change, or record again:',
      again,
      tape.details.entry !== undefined &&
        again === recordCommand(tape) &&
        `\`retake rerun ${runName(tape)}\` runs the changed code.`,
      ...(hasRecordedCode(tape) ? recordedCodeLines(tape, { isRecordedCode, files }) : []),
    )
  if (node !== process.version)
    return [
      isRecordedCode
        ? `The recorded code ran, but not with its Node: ${versions}`
        : `${unchanged}, but Node is not: ${versions}`,
      ...listAdvice,
      ...suspects.slice(0, SUSPECTS_MAX),
      `Replay with Node ${node}, or record again:`,
      again,
    ]
  return [
    isRecordedCode
      ? 'The recorded code ran, so something is not captured.'
      : `${unchanged}, so something is not captured.`,
    ...listAdvice,
    ...(suspects.length === 0 ? lookFor(tape) : suspects.slice(0, SUSPECTS_MAX)),
  ]
}

/** True for a file from a capsule whose secrets were not supplied. */
const hasPlaceholder = (file: string): boolean =>
  readFileSync(file, 'utf8').includes('retake-hidden')

/** Other packages than the recorded ones may run with the recorded code. */
const recordedCodeLines = (
  tape: Tape,
  {
    isRecordedCode,
    files,
  }: { readonly isRecordedCode: boolean; readonly files: readonly string[] },
): string[] => {
  const command = `retake replay ${runName(tape)} --code recorded`
  if (!isRecordedCode && files.length > 0) return ['Or run the code of the recording:', command]
  return hasLockFile(tape) ? ['Or install the recorded packages:', `${command} --install`] : []
}

const lookFor = ({ details: { entry }, run: { scope } }: Tape): string[] =>
  entry === undefined || scope === 'function'
    ? [
        'Earlier calls may have left state in the module: create it in the function.',
        'A queue that runs share, such as p-limit, starts tasks when other runs end theirs: wrap it in sharedQueue().',
        'Wrap anything else that it depends on in tool().',
      ]
    : [`Run \`retake doctor ${entry}\` to find it.`]

function suspectsOf(tape: Tape, divergence: Divergence, placeholders: readonly string[]): string[] {
  const { seq, mismatches } = divergence
  const current =
    divergence.kind === 'unexpected' && 'current' in divergence ? divergence.current : undefined
  // Without a mismatch, the program did something else entirely; perhaps a key was refused. For a
  // command, it is unknown whether it has read the variable.
  const isUsed =
    mismatches.length === 0 ? tape.details.command === undefined : mismatches.some(hasOtherDigest)
  const names = new Set<string>()
  for (const event of tape.events()) {
    if (event.seq >= seq) break
    if (event.type === 'note' && event.kind === 'boundary') names.add(`${event.name} ${event.site}`)
  }
  const used = viewRun(tape).notCaptured.filter(({ what, at }) => names.has(`${what} ${at}`))
  const file = current?.type === 'call' && current.kind === 'file' ? current.title : undefined
  const [, reader] =
    /^(?:.*[\\/])?node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/s.exec(file ?? '') ?? []
  return linesOf(
    tape.run.scope === 'function' &&
      reader !== undefined &&
      `${printable(reader)} probably reads its files only once in a process, and an earlier run had used it. If it can load them without a run, do that in the module, outside the function.`,
    // Random keys look the same, but are known not to be captured.
    used.length === 0 &&
      mismatches.some(hasOtherTraceId) &&
      'It differs in what looks like the id of a trace or span. Telemetry makes these outside of the run, so they differ in each replay: do not print or send them, or read them in boundary().',
    isUsed &&
      placeholders.length > 0 &&
      `${placeholders.slice(0, 3).join(', ')}: a placeholder in this replay, so a signature or password made from it fails or differs.`,
    ...used.map((each) => `Not captured before that: ${notCapturedFact(each)}.`),
    tape.run.scope === 'function' &&
      (divergence.code === 'waiting' || divergence.code === 'waits-forever') &&
      'An AbortSignal or timer from outside the run may have ended the wait.',
    tape.run.scope === 'function' &&
      [current, divergence.recorded].some(
        (event) => event?.type === 'draw' && event.kind === 'AbortSignal.aborted',
      ) &&
      'The function used an AbortSignal from outside the run, which a replay does not pass: create a default signal in the module, outside the function.',
  )
}

/** 32 or 16 hex digits; one letter at least, because times in microseconds have 16 digits. */
const TRACE_ID = /(?<![\da-z])(?=\d*[a-f])(?:[\da-f]{32}|[\da-f]{16})(?![\da-z])/gi

function hasOtherTraceId({ recorded, current }: Mismatch): boolean {
  const ids = (value: unknown): string => (show(value).match(TRACE_ID) ?? []).join(' ')
  return ids(recorded) !== ids(current)
}

/** Text that may have been computed from a secret: long enough for a signature, and without a meaning. */
const DIGEST = /[\w+/=-]{16,}/g

function hasOtherDigest({ isDigest, recorded, current }: Mismatch): boolean {
  if (isDigest) return true
  const digests = (value: unknown): string[] =>
    (show(value).replaceAll(ID_OR_TIME, ' ').match(DIGEST) ?? []).filter((text) => /\d/.test(text))
  const before = digests(recorded)
  const now = digests(current)
  return before.some((text) => !now.includes(text)) && now.some((text) => !before.includes(text))
}

/** UUIDs, and dates and times in ISO 8601. */
const ID_OR_TIME =
  /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?/gi

const maskedVariables = ({ details: { env = {} } }: Tape): string[] =>
  Object.keys(env).filter((name) => env[name]?.includes('retake-h'))
