import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { alternate } from './measure/alternate.mjs'
import { benchRun, EVENTS_PER_STEP, stepMaker } from './measure/recorded-step.mjs'
import { median } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const PAGE = 50

/**
 * How fast a long tape opens: one that was killed, which must be read as a
 * whole, and a finished one, which has an index.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  const steps = Math.ceil((quick ? 10_000 : 100_000) / EVENTS_PER_STEP)
  return withTemporaryFolder(async (folder) => {
    const killed = join(folder, 'killed.tape')
    const sealed = join(folder, 'sealed.tape')
    writeTape(killed, steps, (writer) => writer.close())
    writeTape(sealed, steps, (writer) => writer.seal())
    const lines = headerLines(killed)
    const rounds = quick ? 3 : 15
    const times = await alternate(
      {
        floor: () => parseLines(killed, lines),
        scan: () => readAll(killed),
        list: () => readAll(sealed),
        page: () => readPage(sealed),
      },
      { rounds },
    )
    const [floor, scan, list, page] = [times.floor, times.scan, times.list, times.page].map(median)
    const events = `${(lines.length / 1000).toFixed(0)}k events`
    const method = `p50 of ${rounds} rounds in turns, warm cache, ${events}`
    return [
      {
        name: 'scan of a killed tape / read + JSON.parse of its header lines',
        ratio: scan / floor,
        gate: { max: 2 },
        method: `${method}: every byte checked, every event parsed; ${scan.toFixed(0)} ms against ${floor.toFixed(0)} ms with the offsets given`,
      },
      {
        name: 'first page of a sealed tape / full scan',
        ratio: page / Math.min(scan, list),
        gate: { max: 0.005 },
        method: `${method}: open and read ${PAGE} events; ${page.toFixed(2)} ms against ${Math.min(scan, list).toFixed(0)} ms for all of them`,
      },
    ]
  })
}

function writeTape(path, steps, finish) {
  const writer = TapeWriter.create(path, benchRun, {})
  const nextStep = stepMaker()
  for (let step = 0; step < steps; step++) {
    for (const { event, body } of nextStep(1 + step * EVENTS_PER_STEP)) writer.append(event, body)
  }
  finish(writer)
}

/** Where the header lines are: the floor need not look for them. */
function headerLines(path) {
  const bytes = readFileSync(path)
  const lines = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf('\n', start)
    const tab = bytes.indexOf('\t', start)
    const { stored = 0 } = JSON.parse(bytes.toString('utf8', tab + 1, end))
    lines.push({ start, tab, end })
    start = end + 1 + (stored > 0 ? stored + 1 : 0)
  }
  return lines
}

function parseLines(path, lines) {
  const bytes = readFileSync(path)
  let fields = 0
  for (const { start, tab, end } of lines) {
    fields += JSON.parse(bytes.toString('utf8', start, tab)).seq
    fields += JSON.parse(bytes.toString('utf8', tab + 1, end)).crc.length
  }
  return fields
}

function readAll(path) {
  let sum = 0
  for (const event of openTape(path).events()) sum += event.seq
  return sum
}

function readPage(path) {
  return [...openTape(path).events(0, PAGE)]
}
