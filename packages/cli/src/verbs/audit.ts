import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { auditHtml } from '../audit/audit-html.js'
import { auditLines } from '../audit/audit-lines.js'
import { auditRun } from '../audit/audit-run.js'
import { wrongUsage } from '../errors/command-line.js'
import { FOUND } from '../exit-codes.js'
import { fromHere } from '../from-here.js'
import { writeReport } from '../report/write-report.js'
import { RunStore } from '../run-store.js'
import { painter, widthOf } from '../terminal.js'
import { flag, text } from '../verb.js'
import type { Verb } from '../verb.js'

export const audit: Verb = {
  usage: '<run> [--html file] [--json]',
  help: `Verifies the whole tape first: chain, seal and signature. Then every guarded
call: when, by which agent, with what arguments, which rule decided, who
approved it, what became of it. Calls in doubt are named. Exit code 3 when the
tape is not what was recorded; then nothing of it is told.

Options:
  --html <file>   write it as one HTML page without scripts
  --dir <folder>  where the tapes are (default: .retake/runs)
  --json          everything as JSON

Examples:
  retake audit last
  retake audit last --html audit.html`,
  options: { html: { type: 'string' }, dir: { type: 'string' } },
  run(values, [name, ...rest]) {
    if (name === undefined || rest.length > 0)
      throw wrongUsage('audit', 'Name one run to audit.', 'For example: retake audit last.')
    const audited = auditRun(openTape(new RunStore(text(values, 'dir')).find(name)))
    const file = text(values, 'html')
    if (file !== undefined) {
      writeReport(path.resolve(file), auditHtml(audited))
      process.stderr.write(`written to ${fromHere(path.resolve(file))}\n`)
    }
    const look = { paint: painter(process.stdout), width: widthOf(process.stdout) }
    if (flag(values, 'json')) console.log(JSON.stringify(audited))
    else if (file === undefined) console.log(auditLines(audited, look).join('\n'))
    return Promise.resolve(audited.tape.ok ? 0 : FOUND)
  },
}
