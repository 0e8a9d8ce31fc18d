import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { guard } from 'retake'
import { expect, onTestFinished, test } from 'vitest'
import { soakOnly } from '../support/soak.js'
import { spansIn } from '../support/spans-in.js'
import { copySharedDemo } from '../web/support/demo-runs.js'
import { folderWith } from './workspace.js'
import { freePort } from '../support/free-port.mjs'

/** The program of Arize Phoenix, from `pip install arize-phoenix`. */
const PHOENIX = process.env['RETAKE_PHOENIX'] ?? 'phoenix'

test('Phoenix accepts an export and returns every span', async (context) => {
  soakOnly()
  const isInstalled = spawnSync(PHOENIX, ['--help'], { timeout: 120_000 }).status === 0
  context.skip(!isInstalled, 'Phoenix is not installed: set RETAKE_PHOENIX to its program')
  const { folder, retake } = await folderWith({})
  const run = guard({ name: 'shop', dir: join(folder, '.retake', 'runs') })
  run.tool('lookup', ({ id }: { id: number }) => ({ id, total: 20 }))
  await run.call('lookup', { id: 1182 })
  run.end()
  const [port, grpc] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const child = spawn(PHOENIX, ['serve'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      PHOENIX_WORKING_DIR: folder,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_TELEMETRY_ENABLED: 'false',
    },
  })
  try {
    await until(async () => (await fetch(`${url}/healthz`)).ok)
    const { code } = await retake(['export', 'last', '--endpoint', url, '--content'])
    expect(code).toBe(0)
    const spans = async (): Promise<readonly { name: string; span_kind: string }[]> => {
      const answer = await fetch(`${url}/v1/projects/default/spans?limit=100`)
      const { data = [] } = (await answer.json()) as {
        data?: { name: string; span_kind: string }[]
      }
      return data
    }
    await until(async () => (await spans()).length === 2)
    const found = (await spans()).map(({ name, span_kind: kind }) => [name, kind])
    expect(found.toSorted((left, right) => String(left).localeCompare(String(right)))).toEqual([
      ['execute_tool lookup', 'TOOL'],
      ['invoke_agent shop', 'AGENT'],
    ])
  } finally {
    await stop(child)
  }
})

/** The program of an OpenTelemetry Collector: `otelcol-contrib`, or build test/cli/collector. */
const COLLECTOR = process.env['RETAKE_COLLECTOR'] ?? 'otelcol-contrib'

test('a Collector accepts an export, and its file has every span as it was exported', async (context) => {
  soakOnly()
  const isInstalled = spawnSync(COLLECTOR, ['--help'], { timeout: 120_000 }).status === 0
  context.skip(!isInstalled, 'No Collector is installed: set RETAKE_COLLECTOR to its program')
  const { folder, retake, run, remove } = await copySharedDemo()
  onTestFinished(remove)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const formats = ['otlp-json', 'otlp-protobuf']
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { file: { path: join(folder, 'collected.json') } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
    },
  }
  writeFileSync(join(folder, 'collector.yaml'), JSON.stringify(config))
  const child = spawn(COLLECTOR, ['--config', `file:${join(folder, 'collector.yaml')}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  try {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    await until(async () => child.exitCode !== null || (await fetch(url)).status > 0)
    expect(child.exitCode, log).toBeNull()
    for (const format of formats)
      expect(
        await retake(['export', run, '--endpoint', url, '--content', '--format', format]),
      ).toMatchObject({ code: 0 })
  } finally {
    await stop(child)
  }
  const exported = ['export', '--format', 'otlp-json', '--content', '-o']
  await retake([...exported, 'first.json', run])
  // The Collector writes one line for each request.
  const lines = readFileSync(join(folder, 'collected.json'), 'utf8').trim().split('\n')
  expect(lines).toHaveLength(formats.length)
  for (const [index, line] of lines.entries()) {
    const dir = ['--dir', `imported-${index}`]
    writeFileSync(join(folder, 'line.json'), line)
    expect(await retake(['import', 'line.json', ...dir])).toMatchObject({ code: 0, stderr: '' })
    await retake([...exported, 'again.json', 'last', ...dir])
    expect(spansIn(join(folder, 'again.json'))).toEqual(spansIn(join(folder, 'first.json')))
  }
})

/** A program that ended by itself, for example because of its configuration, is closed already. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await once(child, 'close')
}

/** Waits until a condition holds; the test's own time limit ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds().catch(() => false))) await sleep(500)
}
