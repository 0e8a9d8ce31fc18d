import { createHash, generateKeyPairSync } from 'node:crypto'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { readGuards } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { expect, test, vi } from 'vitest'
import { readRecords, writeRecords } from '../support/forge-tape.js'
import { shop, tapesIn } from './resume-setup.js'

const child = fileURLToPath(new URL('../agents/guard-resume.mjs', import.meta.url))

test('results of a tape that was changed are not served', async () => {
  const { open, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  await first.call('pay', { to: 'Bo' })
  first[Symbol.dispose]()
  const [tape = ''] = tapesIn(dir)
  const bytes = readFileSync(tape)
  const at = bytes.indexOf('"paid":"Al"')
  bytes.write('"paid":"Ed"', at)
  writeFileSync(tape, bytes)
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_CORRUPT' }) as Error)
  expect(existsSync(`${tape}.lock`)).toBe(false)
})

test('a run with redaction is resumed with it, and a run without it only without', async () => {
  const redact = ['email']
  const to = 'al@mail.example.org'
  const hidden = shop()
  const first = hidden.open({ redact })
  await first.call('pay', { to })
  first[Symbol.dispose]()
  // The rules of the resumed run apply.
  expect((await hidden.open().call('pay', { to })).output).toEqual({ paid: to })
  expect(hidden.done).toEqual([to])
  for (const tape of tapesIn(hidden.dir)) expect(readFileSync(tape, 'utf8')).not.toContain(to)

  const open = shop()
  const second = open.open()
  await second.call('pay', { to })
  second[Symbol.dispose]()
  await expect(open.open({ redact }).call('pay', { to })).rejects.toMatchObject({
    code: 'RESUME_REDACTION_CHANGED',
  })
  expect(open.done).toEqual([to])
})

test('a forged result with correct checksums is not served', async () => {
  const { open, dir, failing } = shop()
  failing.add('Al')
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const [tape = ''] = tapesIn(dir)
  const records = readRecords(tape)
  const forged = records.map((record) => {
    const event = JSON.parse(record.text) as { type: string; guard?: object; error?: object }
    if (event.type !== 'result') return record
    const { error: _, ...rest } = event
    return { ...record, text: JSON.stringify({ ...rest, guard: { status: 'done' } }) }
  })
  writeRecords(tape, forged)
  expect(readGuards(openTape(tape)).calls[0]?.state).toBe('done')
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_CORRUPT' }) as Error)
})

test('a tape that grew after it was resumed, or was deleted, is detected', async () => {
  const { open, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const [oldest = ''] = tapesIn(dir)
  const kept = readFileSync(oldest)
  const second = open()
  await second.call('pay', { to: 'Al' })
  second[Symbol.dispose]()
  writeFileSync(oldest, kept.subarray(0, kept.lastIndexOf('{"seq":')))
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_REPLACED' }) as Error)
  rmSync(oldest)
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_TAPE_MISSING' }) as Error)
})

test('a torn end after a kill is not damage', async () => {
  const { open, done, dir } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  appendFileSync(tapesIn(dir)[0] ?? '', '{"seq":5,"at":12,"ty')
  expect((await open().call('pay', { to: 'Al' })).served).toBe(true)
  expect(done).toEqual(['Al'])
})

test('a run killed while it ended is resumed without repeating anything', async () => {
  const { open, dir, done } = shop()
  const first = open()
  await first.call('pay', { to: 'ann' })
  await first.call('pay', { to: 'bob' })
  first.end()
  const [file] = tapesIn(dir) as [string]
  const tape = openTape(file)
  expect(tape.status).toBe('sealed')
  const text = readFileSync(file, 'latin1')
  truncateSync(file, text.indexOf(`{"seq":${tape.count - 1},`))
  expect(openTape(file).status).toBe('ended')
  const again = open()
  expect((await again.call('pay', { to: 'ann' })).served).toBe(true)
  expect((await again.call('pay', { to: 'bob' })).served).toBe(true)
  expect(again.end()?.inDoubt).toEqual([])
  expect(done).toEqual(['ann', 'bob'])
  // Now it has an end that somebody was told of.
  expect((await open().call('pay', { to: 'ann' })).served).toBe(false)
})

test('a run that is still recorded is not resumed', async () => {
  const { open } = shop()
  const first = open()
  await first.call('pay', { to: 'Al' })
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_IN_USE' }) as Error)
  first[Symbol.dispose]()
  const second = open()
  // It holds the run it resumes before it has a tape of its own.
  expect(() => open()).toThrow(expect.objectContaining({ code: 'TAPE_IN_USE' }) as Error)
  second[Symbol.dispose]()
  expect(() => open()).not.toThrow()
})

test('of several processes that resume a killed run concurrently, exactly one succeeds', async () => {
  const { dir } = shop()
  const killed = spawn(process.execPath, [child, dir, 'kill'], { stdio: 'ignore' })
  await once(killed, 'exit')
  const outcomes = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const other = spawn(process.execPath, [child, dir, 'hold'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let said = ''
      for await (const chunk of other.stdout) {
        said += String(chunk)
        if (said.includes('\n')) break
      }
      return { other, said: said.trim() }
    }),
  )
  for (const { other } of outcomes) other.stdin.end()
  expect(outcomes.map(({ said }) => said).toSorted()).toEqual([
    'TAPE_IN_USE',
    'TAPE_IN_USE',
    'TAPE_IN_USE',
    'served',
  ])
})

test('a process that exits without an end leaves a run that can be resumed', async () => {
  const { dir } = shop()
  for (const [mode, said] of [
    ['exit', 'live'],
    ['exit', 'served'],
    ['end', 'served'],
    ['end', 'live'],
  ]) {
    const output = execFileSync(process.execPath, [child, dir, String(mode)], { encoding: 'utf8' })
    expect(output.trim()).toBe(said)
  }
})

test('a run that was not synced is resumed unless the machine was restarted', async () => {
  const { open, done } = shop()
  const first = open({ durability: 'process' })
  await first.call('pay', { to: 'Al' })
  first[Symbol.dispose]()
  const uptime = vi.spyOn(os, 'uptime').mockReturnValue(0)
  expect(() => open()).toThrow(expect.objectContaining({ code: 'RESUME_NOT_DURABLE' }) as Error)
  uptime.mockRestore()
  await open().call('pay', { to: 'Al' })
  expect(done).toEqual(['Al'])
})

test('a call and its result of a run that is not synced survive a kill', () => {
  const { dir } = shop()
  const { signal } = spawnSync(process.execPath, [child, dir, 'process'])
  expect(signal).toBe('SIGKILL')
  const [tape = ''] = tapesIn(dir)
  expect(openTape(tape).run.durability).toBe('process')
  const calls = readGuards(openTape(tape)).calls
  expect(calls.map(({ state, facts }) => facts?.status ?? state)).toEqual(['done', 'in doubt'])
})

test('the tape names its policy and origin, and the seal is signed', async () => {
  const { open } = shop()
  const { privateKey } = generateKeyPairSync('ed25519')
  const policy = { name: 'few', rules: [{ deny: 'hang' }] }
  const run = open({ policy, signingKey: privateKey })
  await run.call('pay', { to: 'Al' })
  const tape = openTape(run.end()?.path ?? '')
  expect(tape.verify()).toMatchObject({ ok: true, signature: 'valid' })
  const [note, ...more] = readGuards(tape).guards
  expect(more).toEqual([])
  expect(note).toMatchObject({
    guard: 'shop',
    policy: { hash: readGuards(tape).calls[0]?.intent.policy, policies: [policy] },
    environment: {
      node: process.version,
      lockfile: {
        name: 'package-lock.json',
        sha256: createHash('sha256').update(readFileSync('package-lock.json')).digest('hex'),
      },
    },
  })
  expect(JSON.stringify(note)).not.toContain(String(process.env['PATH']))
})
