import type { Tape } from '@retake/tape'
import { looseTape, openIntactTape, openOwnTape, openTape, TapeWriter } from '@retake/tape/node'
import { makeReport, REPORT_MARK, type ReportContent } from './make-report.js'
import type { SourceExcerpt } from '../model/run-source.js'
import { project } from '@retake/runner/config'
import type { Pattern } from '@retake/engine/runs'
import {
  maskFindings,
  maskStates,
  refuseSecrets,
  redactRun,
  tapeLineage,
  rewriteLineage,
} from '@retake/runner/privacy'
import type { ViewerPart } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
import { statusOf, viewRun } from '@retake/runner/runs'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { changedCodeText, plural } from '@retake/tape/present'

import { readStates } from '@retake/runner/debug'
import { sourceNear } from '../ui/runs/source-near.js'
import { changedSources } from '@retake/runner/agent'
import { cliErrors } from '@retake/runner/errors'
import { temporaryFolder } from '@retake/runner/temporary-folder'

/** Lines around each location: enough to recognise it, little to give away. */
const AROUND = 3

/** `file:line:column` at the end of a stack frame. */
const STACK_SITE = /(?:file:\/\/)?((?:\/|[A-Za-z]:[\\/])[^()\n]*:\d+:\d+)\)?$/gm

/** Extra data of the local viewer: captured states and, if wanted, source lines. */
function gatherParts(
  tape: Tape,
  { withSource }: { readonly withSource: boolean },
): Pick<ReportContent, 'states' | 'sources'> {
  const states = readStates(tape) ?? []
  if (!withSource)
    return { states: states.map(({ source: _source, ...state }) => state), sources: {} }
  const sources: Record<string, SourceExcerpt> = {}
  // All locations of steps, states and thrown errors.
  const sites = new Set<string>()
  for (const event of tape.events()) {
    if ('site' in event && event.site !== undefined) sites.add(event.site)
    const stack = 'error' in event ? event.error?.stack : undefined
    for (const [, site = ''] of (stack ?? '').matchAll(STACK_SITE))
      if (!/[\\/]node_modules[\\/]/.test(site)) sites.add(site)
  }
  for (const { location, frames } of states)
    for (const position of [location, ...frames.map((frame) => frame.location)])
      if (position !== undefined) sites.add(`${position.file}:${position.line}:${position.column}`)
  // Hashes all files, so only once.
  let changed: number | undefined
  for (const site of sites) {
    const excerpt = sourceNear(tape, site, () => (changed ??= changedSources(tape).length))
    if (excerpt === undefined) continue
    const firstLine = Math.max(excerpt.firstLine, excerpt.line - AROUND)
    const from = firstLine - excerpt.firstLine
    const lines = excerpt.lines.slice(from, excerpt.line - excerpt.firstLine + AROUND + 1)
    sources[site] = { ...excerpt, firstLine, lines }
  }
  return { states, sources }
}

export interface ReportOptions {
  readonly withSource: boolean
  /** Patterns to hide. */
  readonly redact: readonly Pattern[]
  /** If false, refuses a run that contains secrets. */
  readonly allowsSecrets: boolean
  /** What installed capabilities add. */
  readonly parts?: readonly ViewerPart[]
  /** Called with the current activity. */
  readonly onStage?: (what: string) => void
}

/** Makes a self-contained page that shows a run. */
export function reportRun(name: string, options: ReportOptions) {
  const { withSource, redact, allowsSecrets, parts = [], onStage = () => {} } = options
  onStage('reading the tape')
  using temporary = temporaryFolder('report')
  const tape = openIntactTape(name)
  const { damage } = tape
  const file = damage === undefined ? name : writeIntactPart(tape, temporary.path)
  const whole = embeddedTapes(tapeLineage(file), temporary.path)
  const status = statusOf(viewRun(tape), tape)
  const { states, sources } = gatherParts(tape, { withSource })
  const { findings, notes: unreadable } = gatherFindings(tape, options)
  if (redact.length > 0) onStage('redacting')
  const redacted = redact.length > 0 ? redactRun(file, redact, temporary.path) : undefined
  if (!allowsSecrets) refuseSecrets(redacted?.files ?? tapeLineage(file), tape.run.id)
  const hide = <T>(value: T): T => (redacted ? (redacted.mask.deep(value) as T) : value)
  const content = {
    tapes: redacted ? redacted.files.map((each) => looseTape(each)) : whole,
    run: tape.run.id,
    title: hide(tape.run.name),
    madeAt: Date.now(),
    version: version(),
    status,
    redacted: redacted !== undefined,
    tornBytes: damage === undefined ? tape.tornBytes : 0,
    ...(damage && { damage: { event: damage.seq, why: damage.why } }),
    prices: project().prices,
    states: redacted ? maskStates(states, redacted.mask) : states,
    sources: hide(sources),
    tabs: parts.flatMap(({ tabs }) => tabs),
    findings: redacted ? maskFindings(findings, redacted.mask) : findings,
  }
  const notes = [
    ...notesOf(tape, status),
    ...unreadable,
    ...(redacted ? redactionNotes(redacted, redact) : []),
  ]
  onStage('writing the report')
  const html = makeReport({ ...content, notes })
  const [changed] = Object.values(sources).flatMap(({ changedFiles }) => changedFiles ?? [])
  let bytes = 0
  for (let seq = 0; seq < tape.count; seq++) bytes += tape.bodySize(seq)
  return {
    html,
    run: tape.run.id,
    notes: [...notes, ...(changed === undefined ? [] : [changedCodeText(changed)])],
    rawBytes: bytes,
    isDamaged: damage !== undefined,
  }
}

/** Writes the intact part of a damaged run as one tape without an end, the part of its parents included. */
function writeIntactPart(tape: Tape, folder: string): string {
  const { format: _, seq: _seq, at: startAt, parent: _parent, ...run } = tape.run
  const to = path.join(folder, `${run.id}.tape`)
  let at = startAt
  const writer = TapeWriter.create(to, run, tape.details, { now: () => at, lock: 'file' })
  for (const event of tape.events(1)) {
    if (event.type === 'seal') break
    const { seq, at: eventAt, ...rest } = event
    at = eventAt
    writer.buffer(rest, tape.storedBody(seq))
  }
  writer.close()
  return to
}

/** Describes what was hidden without quoting patterns, which may contain the value. */
function redactionNotes(
  { mask, blanked }: ReturnType<typeof redactRun>,
  patterns: readonly Pattern[],
): string[] {
  const names = patterns.flatMap(({ name }) => name ?? [])
  const others = patterns.length - names.length
  const what = [...names, ...(others > 0 ? [plural(others, 'pattern')] : [])].join(', ')
  return [
    `Redacted (${what}): ${plural(mask.hidden, 'value')} hidden behind *.`,
    ...(blanked.length > 0
      ? [
          `Answers hidden completely, because a value was spread over their parts: step ${blanked.join(', ')}.`,
        ]
      : []),
  ]
}

function notesOf(tape: Tape, status: string): string[] {
  const { damage, count } = tape
  if (damage !== undefined)
    return [
      `The tape is damaged at event ${damage.seq}: ${damage.why}. The report shows only the ${plural(count, 'event')} before it.`,
    ]
  if (tape.status !== 'truncated') return []
  return [
    status === 'recording'
      ? `The run was still being recorded: the report shows its first ${tape.count} events.`
      : `The recording was cut off: the report shows its ${tape.count} intact events.`,
  ]
}

/**
 * Verified tapes of a run, root first. Includes only the shared part of ancestors, because the rest
 * belongs to another run.
 */
function embeddedTapes(line: readonly string[], folder: string): Uint8Array[] {
  const whole = line.map((file) => looseTape(file))
  if (line.length === 1) return whole
  const cut = rewriteLineage(line, folder, {
    run: (run) => run,
    details: (details) => details,
    event: (event) => event,
    body: (_seq, body) => body,
  })
  // Tapes for receipts get new salts, and so another chain, when they are rewritten.
  const isSameChain = line.slice(1).every((file, position) => {
    const link = openOwnTape(file).run.parent
    return link !== undefined && openTape(cut[position] ?? '').chainAt(link.seq - 1) === link.chain
  })
  if (!isSameChain) return whole
  return [...cut.slice(0, -1).map((file) => looseTape(file)), ...whole.slice(-1)]
}

/** Findings of capabilities, by tab. Unreadable findings do not prevent a report. */
function gatherFindings(
  tape: Tape,
  { withSource, parts = [] }: Pick<ReportOptions, 'withSource' | 'parts'>,
) {
  const notes: string[] = []
  const readers = parts.flatMap(({ findings }) =>
    Object.entries(findings?.(path.dirname(tape.path)) ?? {}),
  )
  const findings: Record<string, unknown> = {}
  for (const [tab, { read }] of readers) {
    try {
      const found = read(tape, { withSource })
      if (found !== undefined) findings[tab] = found
    } catch {
      notes.push(`What \`retake ${tab}\` found about this run could not be read, and is left out.`)
    }
  }
  return { findings, notes }
}

/** Refuses to overwrite anything but a report, before any work is done. */
export function checkReportFile(file: string, { force }: { readonly force: boolean }): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) throw cliErrors.REPORT_NOT_WRITABLE(file, 'it is a folder')
  if (force || found.size === 0) return
  const start = Buffer.alloc(512)
  const fd = openSync(file, 'r')
  try {
    readSync(fd, start)
  } finally {
    closeSync(fd)
  }
  if (!start.toString('latin1').includes(REPORT_MARK)) throw cliErrors.REPORT_WOULD_OVERWRITE(file)
}
