import type { Probe, ProbePurpose } from '@retake/tape'
import { table } from '../table.js'
import type { Look } from '../terminal.js'
import type { FindingsFile } from './findings-file.js'
import { rateText } from './rate-text.js'
import { labelRanges, rangesToNumbers } from './step-ranges.js'

const MEANINGS: Record<ProbePurpose, string> = {
  anchor: 'does it fail, and only with the recorded steps?',
  prefix: 'up to which step must be kept?',
  cause: 'is that enough, or must others be kept with it?',
  minimal: 'is each of them needed?',
  repair: 'does the rest pass without them?',
  echo: 'what only repeats it?',
  'back-up': 'would something else have made it fail?',
  audit: 'do coalitions that were not looked at agree?',
  confirm: 'is a contradiction real?',
  'one out': 'what does each single step do?',
  risk: 'where does the risk rise?',
}

/** Every question that was put to forks, as a tree: what it was for, what was kept, what they said. */
export function evidenceLines({ findings, steps }: FindingsFile, look: Look): string[] {
  const labels = steps.map(({ label }) => label)
  const purposes = [...new Set(findings.evidence.map(({ purpose }) => purpose))]
  const lines = purposes.flatMap((purpose) => {
    const probes = findings.evidence.filter((probe) => probe.purpose === purpose)
    const rows = probes.map((probe, index) => probeRow(probe, labels, index === probes.length - 1))
    return [`${purpose}  ${look.paint('dim', MEANINGS[purpose])}`, ...table(rows, look.width)]
  })
  return lines.length === 0 ? [] : ['', look.paint('bold', 'evidence'), ...lines]
}

function probeRow(probe: Probe, labels: readonly string[], isLast: boolean): string[] {
  const { kept, mode, rate, undefinedForks, fails } = probe
  const numbers = rangesToNumbers(kept)
  const what =
    numbers.length === 0
      ? 'nothing kept'
      : numbers.length === labels.length
        ? 'everything kept'
        : `kept ${labelRanges(numbers, labels)}`
  return [
    `${isLast ? '└' : '├'} ${mode === 'frozen' ? `${what}, frozen` : what}`,
    fails === undefined ? 'open' : fails ? 'fails' : 'passes',
    rateText(rate) + (undefinedForks === 0 ? '' : `  ${undefinedForks} without a verdict`),
  ]
}
