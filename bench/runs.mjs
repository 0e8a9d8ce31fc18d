import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { processTimes } from './measure/process-times.mjs'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const retake = join(import.meta.dirname, '..', 'packages/cli/bin/retake.mjs')

/** Limits for a list on the screen, and for all rows, as the viewer gets them. */
const LIST_MS = 300
const ROWS_MS = 1000
/** The gates are for this many runs. */
const GATED_RUNS = 5000

/** Preloaded, writes the largest resident memory of a process, in KB, when it ends. */
const peakHook = `data:text/javascript,${encodeURIComponent(
  `import { writeFileSync } from 'node:fs'
process.on('exit', () => writeFileSync('peak.txt', String(process.resourceUsage().maxRSS)))`,
)}`

/**
 * Finding and removing runs in a folder of many. CPU time, the least of several: other work on
 * the machine can only add to it. `node bench/runs.mjs 50000` measures another number of runs.
 *
 * @param {{ quick: boolean, count?: number }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick, count = quick ? 200 : GATED_RUNS }) {
  const rounds = quick ? 1 : 5
  return withTemporaryFolder(async (folder) => {
    writeRuns(folder, count)
    const run = (...args) => {
      const times = processTimes(['--import', peakHook, retake, ...args, '--dir', folder], folder)
      return { ...times, peakMb: Number(readFileSync(join(folder, 'peak.txt'), 'utf8')) / 1024 }
    }
    const least = (...args) => {
      const times = Array.from({ length: rounds }, () => run(...args))
      return {
        cpuMs: Math.min(...times.map(({ cpuMs }) => cpuMs)),
        wallMs: Math.min(...times.map(({ wallMs }) => wallMs)),
        peakMb: Math.max(...times.map(({ peakMb }) => peakMb)),
      }
    }
    rmSync(join(folder, 'index.jsonl'), { force: true })
    const built = run('list', '--json')
    const listed = least('list')
    const rows = least('list', '--json')
    const pruned = run('rm', '--purge', '--keep', String(count / 2))
    const said = ({ cpuMs, wallMs, peakMb }) =>
      `${cpuMs.toFixed(0)} ms, ${wallMs.toFixed(0)} ms on the clock, ${peakMb.toFixed(0)} MB`
    return [
      {
        name: `CPU of retake list of ${count} runs / ${LIST_MS} ms`,
        ratio: listed.cpuMs / LIST_MS,
        ...(count <= GATED_RUNS && { gate: { max: 1 } }),
        method: `the newest 50, least of ${rounds}; ${said(listed)}`,
      },
      {
        name: `CPU of all rows of ${count} runs / ${ROWS_MS} ms`,
        ratio: rows.cpuMs / ROWS_MS,
        ...(count <= GATED_RUNS && { gate: { max: 1 } }),
        method: `retake list --json, least of ${rounds}; ${said(rows)}`,
      },
      {
        name: 'CPU of building the index, ms per run',
        ratio: built.cpuMs / count,
        method: said(built),
      },
      {
        name: 'CPU of retake rm, ms per removed run',
        ratio: pruned.cpuMs / (count / 2),
        method: said(pruned),
      },
    ]
  })
}

/** Writes tapes of a small agent: two model calls with a tool between them, ten events of each answer. */
export function writeRuns(folder, count) {
  const start = Date.UTC(2026, 0, 1)
  const prompt = 'Where is order 1182? '.repeat(200)
  for (let index = 0; index < count; index += 1) {
    const startedAt = start + index * 1000
    const id = `${new Date(startedAt)
      .toISOString()
      .replaceAll(/[-:]|\..*/g, '')
      .replace('T', '-')}-aaaa`
    const run = {
      type: 'run',
      id,
      name: 'chat',
      startedAt,
      scope: 'function',
      node: process.version,
      durability: 'process',
    }
    const writer = TapeWriter.create(join(folder, `${id}.tape`), run, { input: `order ${index}` })
    for (const answer of ['looking', 'shipped']) {
      modelCall(writer, prompt, answer)
      const call = { type: 'call', kind: 'tool', name: 'find_order', as: 'json' }
      const op = writer.buffer(call, Buffer.from(`[{"id":${index}}]`))
      writer.buffer({ type: 'result', op, as: 'json' }, Buffer.from('{"state":"shipped"}'))
    }
    writer.buffer({ type: 'output', stream: 'stdout' }, Buffer.from(`order ${index} is shipped\n`))
    const error = { class: 'Error', name: 'TypeError', message: `no price for order ${index}` }
    writer.buffer({ type: 'end', ...(index % 10 === 0 && { error }) })
    writer.seal()
  }
}

function modelCall(writer, prompt, answer) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] }
  const headers = [['content-type', 'application/json']]
  const url = 'https://api.openai.com/v1/chat/completions'
  const request = { type: 'request', seam: 'fetch', method: 'POST', url, headers }
  const op = writer.buffer(request, Buffer.from(JSON.stringify(body)))
  writer.buffer({ type: 'response', op, status: 200, statusText: 'OK', headers })
  const message = { role: 'assistant', content: answer.repeat(20) }
  const text = JSON.stringify({
    model: 'gpt-4o-mini',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 },
  })
  const size = Math.ceil(text.length / 10)
  for (let at = 0; at < text.length; at += size)
    writer.buffer({ type: 'deliver', op, part: 'chunk' }, Buffer.from(text.slice(at, at + size)))
  writer.buffer({ type: 'deliver', op, part: 'end' })
}

if (import.meta.filename === process.argv[1]) {
  const { formatTable } = await import('./measure/table.mjs')
  console.log(
    formatTable(await measure({ quick: false, count: Number(process.argv[2] ?? GATED_RUNS) })),
  )
}
