import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from './workspace.js'
import { commandsIn, inShell, onTerminal } from './shown-commands.js'
import { soakOnly } from '../support/soak.js'

test('the sample shows a policy, a contract and a replay, in 80 columns', async () => {
  const { retake, folder } = await folderWith({})
  const { stdout, stderr, code } = await retake(['demo', 'guard'])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toMatch(/read_note\(today\.txt\): done\n +Water the plants\./)
  expect(stdout).toMatch(/read_note\(\.\.\/policy\.ts\): denied\n +PATH_/)
  expect(stdout).toMatch(/clean_up\(today\.txt\): denied\n/)
  expect(stdout).toMatch(/day 0: done \{ temperature: 21 \}/)
  expect(stdout).toMatch(/day 1: failed[^]*TYPE_CHANGED at temperature: /)
  expect(stdout).toMatch(/day 2: failed[^]*TEXT_WHERE_JSON/)
  expect(stdout).toMatch(/identical · (\d+) of \1 events/)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect(stdout).toMatch(/retake record \S+policy\.ts  run it again, after a change\n/)
  const [, run = ''] = /retake guard audit (\S+)/.exec(stdout) ?? []
  expect((await retake(['guard', 'audit', run])).stdout).toContain('3 calls, 1 done, 2 denied')

  // Two programs, two runs: checking an output starts no tape of its own.
  const listed = (await retake(['list', '--json'])).stdout.trim().split('\n')
  expect(listed.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([
    'contract',
    'policy',
  ])

  // "And nothing else": the denied tool has removed nothing.
  const note = join(folder, '.retake/sample/notes/today.txt')
  expect(readFileSync(note, 'utf8')).toBe('Water the plants.')
  // "Without running a tool": the file that the tool reads may be gone.
  rmSync(note)
  expect((await retake(['replay', run])).stderr).toMatch(/^identical · \d+ of \d+ events/m)
  expect(existsSync(note)).toBe(false)
  // "0 sockets", and the digest
  const { digest, contacts } = JSON.parse((await retake(['replay', run, '--json'])).stdout) as {
    digest: string
    contacts: object
  }
  expect(contacts).toEqual({})
  expect(stdout).toContain(`digest ${digest}\n`)
  // "number expected, string found", "json expected, text found": what the tool returned.
  const source = readFileSync(join(folder, '.retake/sample/contract.ts'), 'utf8')
  expect(source).toMatch(/'\{"temperature": "21 C"\}', '<h1>Down for maintenance<\/h1>'/)
  expect(stdout).toContain('TYPE_CHANGED at temperature: number expected, string found')
  expect(stdout).toContain('TEXT_WHERE_JSON: json expected, text found')
})

test('sample --json gives what became of each call', async () => {
  soakOnly()
  const { retake } = await folderWith({})
  expect(JSON.parse((await retake(['demo', 'guard', '--json'])).stdout)).toMatchObject({
    policy: { states: ['read_note: done', 'read_note: denied', 'clean_up: denied'] },
    contract: { states: ['weather: done', 'weather: failed', 'weather: failed'] },
    replay: { identical: true, divergences: [] },
  })
})

test('every command that the sample shows works afterwards, without bubblewrap and on 60 columns', async ({
  skip,
}) => {
  soakOnly()
  skip(process.platform !== 'linux', 'script has other options')
  const { folder } = await folderWith({})
  const { stdout, code } = onTerminal(folder, 'RETAKE_SANDBOX=off retake demo guard', 60)
  expect(code).toBe(0)
  expect(stdout).toMatch(/clean_up\(today\.txt\): denied/)
  const commands = commandsIn(stdout.replaceAll('\r', '')).filter((each) => each !== 'retake ui')
  expect(commands.length).toBeGreaterThan(4)
  for (const command of commands)
    expect({ command, ...inShell(folder, command) }).toMatchObject({ code: 0 })
})
