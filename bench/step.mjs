import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { recordLeastStep } from './measure/least-recorder.mjs'
import { benchRun, EVENTS_PER_STEP, stepMaker } from './measure/recorded-step.mjs'
import { median, pairedRatio } from './measure/statistics.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const WARM_UP = 20

/**
 * Cost of recording one agent step: its work against that of the least recorder, and with
 * its syncs against the least that could make the same bytes durable at the same three points.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  const rounds = quick ? 30 : 600
  return withTemporaryFolder((folder) => [
    compareWork(folder, rounds),
    ...compareDurable(folder, rounds),
  ])
}

/** Without syncs, because a slow disk would hide the work. */
function compareWork(folder, rounds) {
  const writer = TapeWriter.create(
    join(folder, 'work.tape'),
    { ...benchRun, durability: 'process' },
    {},
  )
  const file = openSync(join(folder, 'work'), 'w')
  const nextStep = stepMaker()
  const times = { recorded: [], least: [] }
  const ways = {
    recorded: (parts) => recordStep(writer, parts).ms,
    least: (parts) => recordLeastStep(file, parts, { isSynced: false }),
  }
  for (let round = -WARM_UP; round < rounds; round++) {
    const parts = nextStep(1 + (round + WARM_UP) * EVENTS_PER_STEP)
    // In turns: the second finds the bytes in the cache.
    const order = round % 2 === 0 ? ['recorded', 'least'] : ['least', 'recorded']
    for (const way of order) {
      const ms = ways[way](parts)
      if (round >= 0) times[way].push(ms)
    }
  }
  writer.close()
  closeSync(file)
  const [recordedMs, leastMs] = [median(times.recorded), median(times.least)]
  return {
    name: 'one recorded step / one step of the least recorder, without syncs',
    ratio: pairedRatio(times.recorded, times.least),
    gate: { max: 2.2 },
    method: `median of ${rounds} pairs; ${EVENTS_PER_STEP} events, one write each; ${recordedMs.toFixed(2)} ms against ${leastMs.toFixed(2)} ms`,
  }
}

function compareDurable(folder, rounds) {
  const tapePath = join(folder, 'step.tape')
  const writer = TapeWriter.create(tapePath, benchRun, {})
  writer.barrier()
  const floor = openSync(join(folder, 'floor'), 'w')
  const leastFile = openSync(join(folder, 'least'), 'w')
  const tape = openSync(tapePath, 'r')
  const nextStep = stepMaker()
  const times = { recorded: [], floor: [], least: [] }
  const syncsBefore = writer.syncs
  let bytes = 0
  let pieces = []
  for (let round = -WARM_UP; round < rounds; round++) {
    const parts = nextStep(1 + (round + WARM_UP) * EVENTS_PER_STEP)
    const start = statSync(tapePath).size
    // In turns: the floor writes the bytes of this step after it, or of the last one before.
    const before = round % 2 === 0 ? writeFloor(floor, pieces) : 0
    const recorded = recordStep(writer, parts)
    pieces = readPieces(tape, start, recorded.ends)
    const after = round % 2 === 0 ? 0 : writeFloor(floor, pieces)
    const least = recordLeastStep(leastFile, parts)
    if (round < 0) continue
    times.recorded.push(recorded.ms)
    times.floor.push(before + after)
    times.least.push(least)
    bytes += recorded.ends.at(-1) - start
  }
  const syncs = (writer.syncs - syncsBefore) / (rounds + WARM_UP)
  writer.close()
  closeSync(floor)
  closeSync(leastFile)
  closeSync(tape)
  const recordedMs = median(times.recorded)
  const floorMs = median(times.floor)
  return [
    {
      name: 'one recorded step / three write+fdatasync of the same bytes',
      ratio: pairedRatio(times.recorded, times.floor),
      method: `median of ${rounds} pairs; ${EVENTS_PER_STEP} events, ${(bytes / rounds / 1000).toFixed(0)} KB; ${recordedMs.toFixed(2)} ms against ${floorMs.toFixed(2)} ms`,
    },
    {
      name: 'one step of the least recorder / three write+fdatasync of the same bytes',
      ratio: pairedRatio(times.least, times.floor),
      method: `the same events as JSON, one write each; ${median(times.least).toFixed(2)} ms`,
    },
    {
      name: 'fdatasync per written step',
      ratio: syncs,
      gate: { max: 3 },
      method: 'counted by the tape writer over the same steps',
    },
  ]
}

/** Only the time spent in the writer counts; looking up where the file ends does not. */
function recordStep(writer, parts) {
  const ends = []
  let ms = 0
  let started = performance.now()
  for (const { event, body, barrier } of parts) {
    writer.append(event, body)
    if (barrier !== true) continue
    writer.barrier()
    ms += performance.now() - started
    ends.push(statSync(writer.path).size)
    started = performance.now()
  }
  return { ms, ends }
}

function readPieces(file, start, ends) {
  let from = start
  return ends.map((end) => {
    const piece = Buffer.alloc(end - from)
    readSync(file, piece, 0, piece.length, from)
    from = end
    return piece
  })
}

function writeFloor(file, pieces) {
  const started = performance.now()
  for (const piece of pieces) {
    writeSync(file, piece)
    fdatasyncSync(file)
  }
  return performance.now() - started
}
