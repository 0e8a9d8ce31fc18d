import {
  writeReport,
  ALLOW_SECRETS_OPTION,
  DIR_OPTION,
  loadViewerParts,
  REDACT_OPTION,
  type Verb,
  FOUND,
} from '@retake/runner/command-line'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { fromHere, printJson, Progress, openBrowser } from '@retake/runner/terminal'
import { givenPatterns } from '@retake/runner/config'
import { checkReportFile, reportRun } from '../report/report-run.js'
import { bytesText } from '@retake/tape/present'

/** Many mail servers refuse larger files, which also open slowly. */
const LARGE_BYTES = 20e6

export default {
  arguments: '<run>',
  description: `The file opens in any browser, straight from disk and without a network. It
contains the tape itself: everything the agent sent and received. Of a damaged tape, it contains the
part before the damage, and the command exits with 3.`,
  options: {
    '-o, --out <file>': 'file to write (default: <run id>.html)',
    ...REDACT_OPTION,
    ...ALLOW_SECRETS_OPTION,
    '--no-source': 'omit the lines of your source files around each step',
    '--open': 'open it in the browser',
    '--force': 'replace the file even if it is not a report',
    ...DIR_OPTION,
    '--json': 'print path, size and notes as JSON',
  },
  examples: [
    'retake report last',
    'retake report last -o refund.html --open',
    `retake report last --redact email --redact 'cus_[a-z0-9]+'`,
  ],
  async run(options, [name = '']) {
    const tape = options.store.find(name)
    const file = path.resolve(options.text('out') ?? `${path.basename(tape, '.tape')}.html`)
    checkReportFile(file, { force: options.flag('force') })
    using progress = new Progress('reading the tape')
    const { run, notes, rawBytes, html, isDamaged } = reportRun(tape, {
      withSource: !options.flag('no-source'),
      redact: givenPatterns(options.texts('redact')),
      allowsSecrets: options.flag('allow-secrets'),
      parts: await loadViewerParts(),
      onStage: (what) => progress.say(what),
    })
    writeReport(file, html)
    progress.stop()
    const bytes = Buffer.byteLength(html)
    if (options.json) printJson({ run, file, bytes, rawBytes, notes })
    else {
      for (const note of notes) console.error(note)
      console.log(
        `${fromHere(file)}  ${bytesText(bytes)}, shows ${bytesText(rawBytes)} of recorded data`,
      )
      if (bytes > LARGE_BYTES)
        console.error(`It is large: many mail servers refuse it, and it opens slowly.`)
    }
    if (options.flag('open')) await openBrowser(pathToFileURL(file).href)
    return isDamaged ? FOUND : 0
  },
} satisfies Verb
