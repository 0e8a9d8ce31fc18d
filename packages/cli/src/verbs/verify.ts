import { tapesOf, writeOrReport } from '@retake/runner/verify'
import { type Verb, PROGRAM_OPTIONS, usageError } from '@retake/runner/command-line'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Tape, validateTape } from '@retake/tape'
import { nodePlatform, openFileSource, openTape } from '@retake/tape/node'
import { plural } from '@retake/tape/present'
import { changedFileLines } from '@retake/runner/agent'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { FOUND } from '@retake/runner/command-line'
import {
  fromHere,
  type Paint,
  painter,
  Progress,
  tableLines,
  cutWidthOf,
  printableLine,
  printJson,
  linesOf,
} from '@retake/runner/terminal'
import { notCapturedLines } from '@retake/runner/agent'
import { explain } from '@retake/runner/command-line'
import { originalOf } from '@retake/runner/privacy'
import { requireTrust } from '@retake/runner/agent'
import {
  annotations,
  appendSummary,
  isGithub,
  junitReport,
  summaryOf,
  type ProofVerdict,
  verdictOf,
} from '@retake/runner/verify'
import { DigestManifest } from '@retake/runner/verify'
import { type VerifiedTape, verifyRecordedTape } from '@retake/runner/verify'

export default {
  arguments: '<run|folder...>',
  description: `Recomputes every digest of the tape, then replays the program and compares. Exit
code 3 if a tape is damaged or cut off, or if a program behaves differently. Runs that are still
being recorded are skipped.

In a GitHub workflow, findings are annotated at the line of your code, and the job summary gets a
table of all tapes.`,
  options: {
    '--integrity-only': 'do not replay the programs',
    '--format':
      'only check the tapes against every rule of the format, one line per problem; for writers in other languages',
    '--code <recorded>':
      "replay the code that was recorded, although it has changed since (default: today's code)",
    '--allow-cut-off': 'accept the tape of a killed run, which has no end',
    '--strict-files':
      'report a finding if a project file has changed since the run read it (default: a warning; the recorded content is served)',
    '--write-manifest <file>': 'write the digests of these tapes to a file, if nothing was found',
    '--manifest <file>':
      'report tapes that differ from this file, that are not in it, or that are missing',
    '--junit <file>': 'also write JUnit XML, with a test case for each tape',
    ...PROGRAM_OPTIONS,
    '--json': 'print one result per line as JSON',
  },
  examples: [
    'retake verify last',
    'retake verify test/tapes',
    'retake verify last --code recorded',
    'retake verify test/tapes --junit retake.xml',
    'retake verify .retake/runs --integrity-only --json',
    'retake verify test/tapes --manifest digests.json',
    'retake verify --format python.tape',
  ],
  async run(options, names) {
    const store = options.store
    const files = names.flatMap((name) => tapesOf(name, store))
    if (options.flag('format')) return checkFormat(files, options.json)
    const junit = options.text('junit')
    // Checked first, so that no work is wasted.
    if (junit !== undefined)
      writeOrReport(junit, () => {
        mkdirSync(path.dirname(path.resolve(junit)), { recursive: true })
        if (statSync(junit, { throwIfNoEntry: false })?.isDirectory())
          throw new Error('it is a folder')
      })
    const listed = options.text('manifest')
    const manifest = listed === undefined ? undefined : DigestManifest.read(listed)
    const replay = !options.flag('integrity-only')
    const code = options.choice('code', ['recorded']) ?? 'today'
    if (!replay && code === 'recorded')
      throw usageError(
        '--code recorded cannot be combined with --integrity-only.',
        'Leave out one of them.',
      )
    if (replay) for (const file of files) checkTrust(file)
    const startedAt = new Date()
    const verdicts: ProofVerdict[] = []
    using progress = new Progress()
    for (const [index, file] of files.entries()) {
      progress.say(`verifying ${index + 1} of ${files.length}: ${path.basename(file)}`)
      const started = performance.now()
      const verified = await verifyRecordedTape(file, {
        replay,
        code,
        allowCutOff: options.flag('allow-cut-off'),
        strictFiles: options.flag('strict-files'),
      })
      const result = manifest?.compare(verified) ?? verified
      verdicts.push(verdictOf(result, performance.now() - started, replay))
      if (options.json) printJson(result)
    }
    progress.stop()
    const found = verdicts.map(({ verified }) => verified)
    for (const result of manifest?.missing(names, found) ?? []) {
      verdicts.push(verdictOf(result, 0, replay))
      if (options.json) printJson(result)
    }
    const written = options.text('write-manifest')
    if (written !== undefined && found.every(({ ok }) => ok))
      writeOrReport(written, () => DigestManifest.write(written, found))
    if (junit !== undefined)
      writeOrReport(junit, () =>
        writeFileSync(junit, junitReport('retake verify', verdicts, startedAt)),
      )
    if (!options.json)
      print(
        verdicts.map(({ verified }) => verified),
        code,
      )
    if (isGithub(process.env)) {
      // With --json, stdout contains only JSON, so annotations are left out.
      if (!options.json) for (const line of annotations(verdicts, process.env)) console.log(line)
      appendSummary(verdicts, process.env)
    }
    return verdicts.every(({ verified }) => verified.ok) ? 0 : FOUND
  },
} satisfies Verb

/** Prints each problem with its code and position. Nothing is replayed, and parents are not read. */
function checkFormat(files: readonly string[], isJson: boolean): number {
  const reports = files.map((file) => ({
    tape: file,
    ...validateTape(nodePlatform, openFileSource(file)),
  }))
  for (const report of reports) {
    if (isJson) printJson(report)
    else
      for (const { offset, seq, code, why } of report.problems) {
        const event = seq === undefined ? '' : `, event ${seq}`
        console.log(printableLine(`${report.tape}: byte ${offset}${event}: ${code}: ${why}`))
      }
  }
  const wrong = reports.filter(({ valid }) => !valid).length
  const outcome = wrong === 0 ? 'all valid' : `${wrong} not valid`
  process.stderr.write(`${plural(files.length, 'tape')}, ${outcome}\n`)
  return wrong === 0 ? 0 : FOUND
}

/** Skips unreadable tapes, which start nothing and are reported later. */
function checkTrust(file: string): void {
  using temporary = temporaryFolder('verify')
  let tape: Tape
  try {
    ;({ tape } = originalOf(openTape(file), temporary.path))
  } catch (error) {
    if (explain(error) === undefined) throw error
    return
  }
  // An imported run starts nothing.
  if (tape.details.imported === undefined) requireTrust(tape)
}

function print(results: readonly VerifiedTape[], code: Code): void {
  const paint = painter(process.stdout)
  // A terminal gets one short line per tape; files and pipes get everything.
  const isTerminal = process.stdout.isTTY
  const rows = results.map((result) => [
    result.run ?? path.basename(result.tape),
    painted(result.integrity, paint),
    painted(result.replay, paint),
    (result.digest ?? '').slice(0, isTerminal ? SHORT_DIGEST : undefined),
    result.detail,
  ])
  const head = ['run', 'tape', 'replay', 'digest', '']
  const width = cutWidthOf(process.stdout)
  console.log(tableLines([head, ...rows], width).join('\n'))
  for (const line of results.flatMap((result) => warningsOf(result, code)))
    process.stderr.write(`${line}\n`)
  process.stderr.write(`${summaryOf(results)}\n`)
}

type Code = 'recorded' | 'today'

/** Changed files that were served as recorded; if a replay differs, also uncaptured boundaries. */
function warningsOf(
  { run = '', tape, replay, changedCode = [], changedFiles = [], notCaptured = [] }: VerifiedTape,
  code: Code,
): string[] {
  const changed = changedCode.join(', ')
  const lines = linesOf(
    changed !== '' &&
      (code === 'recorded'
        ? `code: as recorded; changed since: ${changed}`
        : `code changed since the recording: ${changed}`),
    ...changedFileLines(changedFiles),
    replay !== 'identical' && notCapturedLines(notCaptured, `retake show ${fromHere(tape)}`),
  )
  return lines.map((line) => `${run}: ${line}`)
}

/** Number of digits that distinguish runs at a glance. */
const SHORT_DIGEST = 12

const GOOD = new Set(['intact', 'identical'])
const BAD = new Set(['cut off', 'damaged', 'unreadable', 'missing', 'diverged', 'failed'])
const painted = (word: string, paint: Paint): string =>
  GOOD.has(word) ? paint('green', word) : BAD.has(word) ? paint('red', word) : word
