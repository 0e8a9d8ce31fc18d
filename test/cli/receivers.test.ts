import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { guard } from 'retake'
import { expect, test } from 'vitest'
import { soakOnly } from '../support/soak.js'
import { spansIn } from '../support/spans-in.js'
import { folderWith } from './workspace.js'

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
    child.kill()
    await once(child, 'close')
  }
})

/** An OpenTelemetry Collector with the OTLP receiver and the file exporter. */
const COLLECTOR = process.env['RETAKE_COLLECTOR'] ?? 'otelcol-contrib'

test('a Collector accepts an export, and its file has every span as it was exported', async (context) => {
  soakOnly()
  const isInstalled = spawnSync(COLLECTOR, ['--help'], { timeout: 120_000 }).status === 0
  context.skip(!isInstalled, 'No Collector is installed: set RETAKE_COLLECTOR to its program')
  const { folder, retake } = await folderWith({})
  const run = guard({ name: 'shop', dir: join(folder, '.retake', 'runs') })
  run.tool('lookup', ({ id }: { id: number }) => ({ id, total: 20 }))
  run.tool('refund', () => {
    throw new Error('the bank is closed')
  })
  await run.call('lookup', { id: 1182 })
  await run.call('refund', {})
  run.end()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
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
    stdio: 'ignore',
  })
  try {
    await until(async () => child.exitCode !== null || (await fetch(url)).status > 0)
    expect(child.exitCode, 'the Collector runs').toBeNull()
    for (const format of ['otlp-json', 'otlp-protobuf'])
      expect(
        await retake(['export', 'last', '--endpoint', url, '--content', '--format', format]),
      ).toMatchObject({ code: 0 })
  } finally {
    child.kill()
    await once(child, 'close')
  }
  const dir = ['--dir', 'imported']
  const { stdout, stderr } = await retake(['import', 'collected.json', ...dir])
  expect(stdout).toMatch(/^imported \S+ · 3 spans/m)
  // Both encodings were sent, with the same ids.
  expect(stderr).toContain('3 spans that occur twice')
  const exported = ['export', 'last', '--format', 'otlp-json', '--content', '-o']
  await retake([...exported, 'first.json'])
  await retake([...exported, 'again.json', ...dir])
  expect(spansIn(join(folder, 'again.json'))).toEqual(spansIn(join(folder, 'first.json')))
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until a condition holds; the test's own time limit ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds().catch(() => false))) await sleep(500)
}
