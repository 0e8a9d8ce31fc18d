import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { verbs as table } from '../../packages/cli/dist/verbs/index.js'
import { generalHelp } from '../../packages/runner/dist/command-line/help.js'
import { verbEntries } from '../../packages/runner/dist/command-line/find-verb.js'
import { folderWith } from './workspace.js'

const commands = verbEntries(table)

test('--help lists every command in its group, and fits a screen of 80×24', async () => {
  const { retake } = await folderWith({})
  const { stdout, code } = await retake(['--help'])
  expect(code).toBe(0)
  for (const [name, { group, summary }] of commands) {
    expect(stdout.includes(` ${name} `), name).toBe(!name.includes(' '))
    expect(group !== undefined, name).toBe(!name.includes(' '))
    expect(group === undefined || summary.length <= 23, name).toBe(true)
  }
  const lines = stdout.trimEnd().split('\n')
  expect(lines.filter((line) => line.length > 80 || /\s$/.test(line))).toEqual([])
  expect(lines.length).toBeLessThanOrEqual(24)
  expect(lines.filter((line) => /^[A-Z]\w+ +[a-z]/.test(line))).toHaveLength(5)
})

test('on a narrow terminal, --help has one column', () => {
  const lines = generalHelp(table, 60).split('\n')
  expect(lines.filter((line) => line.length > 60)).toEqual([])
  expect(lines).toContain('Record   demo      See how Retake works')
  expect(lines).toContain('         record    Run and record an agent')
})

test('every command explains itself with usage and examples, or names its subcommands', async () => {
  const { retakeEach } = await folderWith({})
  const pages = await retakeEach(commands.map(([name]) => [...name.split(' '), '--help']))
  for (const [index, { stdout, code }] of pages.entries()) {
    const [name = '', { load } = {}] = commands[index] ?? []
    expect(code).toBe(0)
    expect(stdout).toContain(`usage: retake ${name}`)
    expect(stdout).toContain(load === undefined ? `Commands:\n  retake ${name} ` : 'Examples:')
    expect(stdout.split('\n').filter((line) => line.length > 80 || /\s$/.test(line))).toEqual([])
  }
})

test('a retired name answers with the new one, as JSON, too', async () => {
  const { retakeEach } = await folderWith({})
  const retired = Object.entries(table).flatMap(([name, entry]) =>
    'nowCalled' in entry ? [[name, entry.nowCalled] as const] : [],
  )
  expect(retired.map(([name]) => name).toSorted()).toEqual(
    'approvals,audit,bench,bisect,ci,files,gc,keys,policy,prune,sample,scan,separate,snapshot,verify-receipt'.split(
      ',',
    ),
  )
  const answers = await retakeEach(retired.map(([name]) => [name, 'last']))
  for (const [index, [name, now]] of retired.entries()) {
    expect(answers[index]).toMatchObject({ code: 2, stdout: '' })
    expect(answers[index]?.stderr).toContain(`error  '${name}' is now \`${now}\`.\n`)
    expect(answers[index]?.stderr).toContain('code COMMAND_RENAMED')
  }
  const [json] = await retakeEach([['gc', '--older-than', '1d', '--json']])
  expect(json).toMatchObject({ code: 2, stderr: '' })
  expect(JSON.parse(json?.stdout ?? '')).toMatchObject({
    error: { code: 'COMMAND_RENAMED', what: "'gc' is now `retake rm --older-than <age>`." },
  })
})

test('a subcommand that is missing or mistyped is a wrong usage; short names work', async () => {
  const { retakeEach } = await folderWith({})
  const [missing, typed, json, step, help] = await retakeEach([
    ['debug'],
    ['guard', 'polcy'],
    ['receipt', 'last', '--json'],
    ['step'],
    ['help', 'guard', 'policy'],
  ])
  expect(missing).toMatchObject({ code: 2 })
  expect(missing?.stderr).toContain('Use one of debug step, debug eval, debug snapshot.')
  expect(typed).toMatchObject({ code: 2 })
  expect(typed?.stderr).toContain('Did you mean `retake guard policy`?')
  expect(typed?.stderr).toContain('Run `retake guard --help` to list the commands.')
  expect(JSON.parse(json?.stdout ?? '')).toMatchObject({ error: { code: 'UNKNOWN_COMMAND' } })
  expect(step?.stderr).toContain('Run `retake debug step --help` for usage.')
  expect(help?.stdout).toContain('usage: retake guard policy check <file>')
})

test('an option selects another form of a command, with its own arguments', async () => {
  const { retakeEach } = await folderWith({})
  const [base, form, late] = await retakeEach([
    ['scrub', '--help'],
    ['scrub', '--check', '--help'],
    ['scrub', 'last', '--vault', '--check'],
  ])
  expect(base?.stdout).toContain('retake scrub --check')
  expect(form?.stdout).toContain('usage: retake scrub --check <run|folder|file...> [options]')
  expect(late).toMatchObject({ code: 2 })
  expect(late?.stderr).toContain("Unknown option '--vault'")
})

test('`retake docs` with the name of a command prints its reference', async () => {
  const { retake } = await folderWith({})
  expect((await retake(['docs', 'fork'])).stdout).toMatch(/^# fork\n/)
})

test('--version prints the version of the package', async () => {
  const { retake } = await folderWith({})
  const manifest = new URL('../../packages/cli/package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  expect((await retake(['--version'])).stdout).toBe(`${version}\n`)
})

test('a mistyped command or option is a wrong usage, with a suggestion', async () => {
  const { retakeEach } = await folderWith({})
  const [command, json, option, missing, repeatable] = await retakeEach([
    ['reply', 'last'],
    ['reply', 'last', '--json'],
    ['replay', 'last', '--obsrve'],
    ['show'],
    ['fork', 'last'],
  ])
  expect(command).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean `retake replay`?') as string,
  })
  expect(JSON.parse(json?.stdout ?? '')).toMatchObject({ error: { code: 'UNKNOWN_COMMAND' } })
  expect(option).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean --observe?') as string,
  })
  expect(missing).toMatchObject({ code: 2 })
  expect(repeatable?.stderr).toContain('Missing option --at <N>.\n')
})

test('without arguments the command says what it is for and how to begin', async () => {
  const { retake } = await folderWith({})
  const { stderr, code } = await retake([])
  expect(code).toBe(2)
  expect(stderr.split('\n').length).toBeLessThan(20)
  for (const command of ['demo', 'record agent.ts', 'replay last', '--help'])
    expect(stderr).toContain(`npx retake ${command}`)
})
