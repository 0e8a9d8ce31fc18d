import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { messageText, type Tape } from '@retake/tape'
import { fromWire, attempt } from '@retake/tape/format'
import { openOwnTape } from '@retake/tape/node'
import { projectRoot } from '../agent/changed-files.js'
import { shellWord } from '../terminal/shell-word.js'
import { refuseProxyRun } from '../agent/replay-agent.js'
import { fileHere, movedHere } from '../sources/source-code.js'
import { cliErrors } from '../errors.js'
import { readOutcome } from '../oracle/oracle.js'
import { refuseSecrets } from '../privacy/find-secrets.js'
import { viewRun } from '../runs/view-run.js'
import { fromHere, plainValue } from '../terminal/terminal.js'

export const RUNNERS = ['vitest', 'jest', 'node'] as const
export type TestRunner = (typeof RUNNERS)[number]

interface PackageJson {
  readonly type?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: object
  readonly devDependencies?: object
}

const packageOf = (root: string): PackageJson =>
  attempt(
    () => JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as PackageJson,
    {},
  )

/** The test runner of the project in this folder (default: `node:test`). */
export function runnerOfProject(folder: string): TestRunner {
  const { dependencies, devDependencies, scripts } = packageOf(
    projectRoot(path.join(folder, 'package.json')),
  )
  const installed = { ...dependencies, ...devDependencies }
  const script = scripts?.['test'] ?? ''
  const named = RUNNERS.find((each) => new RegExp(String.raw`\b${each}\b`).test(script))
  return named ?? RUNNERS.find((each) => each in installed) ?? 'node'
}

export interface WriteTestOptions {
  readonly runner: TestRunner
  readonly out?: string | undefined
  readonly name?: string | undefined
  /** The command that writes it (default: `retake test`). */
  readonly by?: string
  readonly force?: boolean
  /** If not set, refuses a run that contains secrets. */
  readonly allowsSecrets?: boolean
  /** As for `--oracle` (default: assertions from the outcome). */
  readonly oracle?: string | undefined
  /** Tools that run in the test instead of being served. */
  readonly runs?: readonly string[]
  readonly call?: TestedCall
}

/** The function that a run of `record()` called: `file#export`, and its argument. */
interface TestedCall {
  readonly entry: string
  readonly json?: string
}

/** The function call that a test must make, if any. Throws if the run cannot be tested. */
export function testedCall(tape: Tape, given: Partial<TestedCall> = {}): TestedCall | undefined {
  refuseProxyRun(tape)
  if (!tape.isComplete) throw cliErrors.TEST_TAPE_CUT_OFF(tape.path)
  if (tape.run.scope !== 'function') return undefined
  const { entry = tape.details.entry, json = inputJson(tape) } = given
  if (entry === undefined) throw cliErrors.TEST_NEEDS_ENTRY(tape.run.id, 'function')
  return { entry, ...(json !== undefined && { json }) }
}

function inputJson({ run, details: { input } }: Tape): string | undefined {
  if (input === undefined) return undefined
  const value = fromWire(input)
  const json = JSON.stringify(value)
  if (json === undefined || !isDeepStrictEqual(JSON.parse(json), value))
    throw cliErrors.TEST_NEEDS_ENTRY(run.id, 'input')
  return json
}

interface WrittenTest {
  readonly test: string
  /** The tape and its ancestors. */
  readonly tapes: readonly string[]
  readonly command: string
}

/**
 * Writes a test file and copies the tape beside it. Writes nothing if another file has one of these
 * names, or if the tape contains secrets: tests are committed. For an imported run, which cannot be
 * replayed, writes only a starting point.
 */
export function writeTest(tape: Tape, options: WriteTestOptions): WrittenTest {
  const { runner, force = false } = options
  const isImported = tape.details.imported !== undefined
  const root = projectRoot(path.join(process.cwd(), 'package.json'))
  const title = options.name ?? tape.run.name
  const slug =
    path
      .basename(title)
      .replace(/\.[cm]?[jt]sx?$/, '')
      .replaceAll(/[^\w-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'run'
  const isModule = packageOf(root).type === 'module'
  // Jest loads ES modules only with a Node flag, which a function in an ES module needs anyway.
  const isCommonJs = runner === 'jest' && !(isModule && options.call !== undefined)
  const extension = isCommonJs ? 'cjs' : 'mjs'
  const folder =
    ['test', 'tests', '__tests__']
      .map((name) => path.join(root, name))
      .find((each) => statSync(each, { throwIfNoEntry: false })?.isDirectory()) ??
    path.join(root, 'test')
  const test = path.resolve(options.out ?? path.join(folder, `${slug}.test.${extension}`))
  const copy = path.join(path.dirname(test), 'tapes', `${slug}.tape`)
  const copies = isImported ? new Map<string, string>() : tapeCopies(tape, copy)
  const isOther = (file: string): boolean => {
    const from = copies.get(file)
    // Tests of several branches share the tapes of their ancestors.
    return (
      existsSync(file) && (from === undefined || !readFileSync(file).equals(readFileSync(from)))
    )
  }
  const taken = [test, ...copies.keys()].find(isOther)
  if (taken !== undefined && !force) throw cliErrors.TEST_FILE_EXISTS(fromHere(taken))
  if (options.allowsSecrets !== true)
    refuseSecrets(isImported ? [tape.path] : [...copies.values()], tape.run.id)
  const textOf = isImported ? skeletonText : testText
  const text = textOf(tape, { ...options, title, isCommonJs, test, tape: copy })
  try {
    mkdirSync(path.dirname(isImported ? test : copy), { recursive: true })
    for (const [to, from] of copies) if (path.resolve(from) !== to) copyFileSync(from, to)
    writeFileSync(test, text)
  } catch (error) {
    throw cliErrors.TEST_FILE_NOT_WRITABLE(fromHere(test), error)
  }
  return { test, tapes: [...copies.keys()], command: commandFor(runner, test, isCommonJs) }
}

/**
 * The input, tool calls and result of an imported run as data, in a test that is skipped until it
 * is connected to the agent.
 */
function skeletonText(tape: Tape, { runner, isCommonJs, title }: TestTextOptions): string {
  const { steps } = viewRun(tape)
  const calls = steps
    .filter(({ kind }) => kind === 'tool')
    .map((step) => {
      const { name, args, result } = step.call() ?? { name: step.title }
      return plainValue({ name, args, result })
    })
  const first = steps.find(({ kind }) => kind === 'model')?.messages()
  const prompt = first?.findLast(({ role }) => role === 'user')
  const last = steps.findLast(({ kind }) => kind === 'model')?.answer() ?? []
  const said = last.map(messageText).join('')
  const imports = IMPORTS[runner].slice(0, -1)
  return [
    `// Written by \`retake test ${tape.run.id}\` from an imported run, which cannot be replayed.`,
    '// Call your agent below, then remove `.skip`.',
    ...imports.map(isCommonJs ? required : imported),
    '',
    `const input = ${quote(prompt === undefined ? '' : messageText(prompt))}`,
    '// Tools that the run called, with the answers they gave.',
    `const calls = ${JSON.stringify(calls, null, 2)}`,
    `const answer = ${quote(said)}`,
    '',
    `test.skip(${quote(title)}, async () => {`,
    '  const agent = async (text, tools) => tools && text // Replace it with your agent.',
    '  const output = await agent(input, calls)',
    `  ${runner === 'node' ? 'assert.equal(output, answer)' : 'expect(output).toBe(answer)'}`,
    '})',
    '',
  ].join('\n')
}

/** Source files by target. A branch needs its ancestors, under their ids, in the same folder. */
export function tapeCopies(tape: Tape, target: string): Map<string, string> {
  const copies = new Map([[target, tape.path]])
  const folder = path.dirname(path.resolve(tape.path))
  for (let parent = tape.run.parent?.run; parent !== undefined;) {
    const file = path.join(folder, `${parent}.tape`)
    copies.set(path.join(path.dirname(target), `${parent}.tape`), file)
    parent = openOwnTape(file).run.parent?.run
  }
  return copies
}

interface TestTextOptions extends WriteTestOptions {
  readonly title: string
  readonly isCommonJs: boolean
  readonly test: string
  readonly tape: string
}

function testText(tape: Tape, options: TestTextOptions): string {
  const { runner, isCommonJs, call, title } = options
  const head = [
    ...(runner === 'jest' ? ['/** @jest-environment retake/jest-environment */'] : []),
    `// Written by \`${options.by ?? `retake test ${tape.run.id}`}\`. Replays the recorded run offline; fails when the`,
    '// agent sends another request or ends differently. Edit it freely.',
  ]
  const body = call === undefined ? programTest(tape, options) : functionTest(tape, options, call)
  const imports = isCommonJs ? body.imports.map(required) : body.imports.map(imported)
  return [
    ...head,
    ...imports,
    '',
    `test(${JSON.stringify(title)}, async (${body.fixtures}) => {`,
    ...body.lines.map((line) => `  ${line}`),
    // A replay starts a process, for which the default of five seconds is short on a busy machine.
    runner === 'node' ? '})' : '}, 60_000)',
    '',
  ].join('\n')
}

type Import = readonly [names: string, from: string]

const imported = ([names, from]: Import): string => `import ${names} from '${from}'`
const required = ([names, from]: Import): string =>
  `const ${names.replaceAll(' as ', ': ')} = require('${from}')`

interface TestBody {
  readonly imports: readonly Import[]
  readonly fixtures: string
  readonly lines: readonly string[]
}

function programTest(tape: Tape, options: TestTextOptions): TestBody {
  const { runner, isCommonJs, oracle, runs = [] } = options
  const from = (file: string): string => {
    const relative = relativeFrom(options.test, file)
    return isCommonJs
      ? `require('node:path').join(__dirname, ${quote(relative)})`
      : `new URL(${quote(relative)}, import.meta.url)`
  }
  const { cwd = '.', entry = '' } = tape.details
  const program = fileHere(cwd, entry, movedHere(tape))
  const args = tape.details.args ?? []
  const settings = [
    ...(oracle === undefined ? [] : [`oracle: ${quote(oracle)}`]),
    ...(runs.length === 0 ? [] : [`runs: [${runs.map(quote).join(', ')}]`]),
  ]
  const judge = settings.length === 0 ? '' : `, { ${settings.join(', ')} }`
  const { exitCode, stdout } = readOutcome(tape)
  const last = stdout.trimEnd().split('\n').at(-1) ?? ''
  const prints =
    runner === 'node' ? 'assert.ok(run.stdout.includes' : 'expect(run.stdout).toContain'
  return {
    imports: IMPORTS[runner],
    fixtures: '',
    lines: [
      ...(args.length > 0 ? [`// Arguments, from the tape: ${JSON.stringify(args)}`] : []),
      `const program = ${from(program)}`,
      `const tape = ${from(options.tape)}`,
      `const run = await replayProgram(program, tape${judge})`,
      ...(oracle === undefined
        ? [
            ...(exitCode === undefined ? [] : [equal(runner, 'run.exitCode', String(exitCode))]),
            ...(last === '' || last.length > ASSERTED_MAX
              ? []
              : [`${prints}(${quote(last)})${runner === 'node' ? ')' : ''}`]),
          ]
        : [equal(runner, 'run.judgement?.verdict', quote('pass'), 'run.judgement?.reason')]),
    ],
  }
}

const IMPORTS: Readonly<Record<TestRunner, readonly Import[]>> = {
  vitest: [
    ['{ expect, test }', 'vitest'],
    ['{ replayProgram }', 'retake/testing'],
  ],
  jest: [
    ['{ expect, test }', '@jest/globals'],
    ['{ replayProgram }', 'retake/jest'],
  ],
  node: [
    ['assert', 'node:assert/strict'],
    ['test', 'node:test'],
    ['{ replayProgram }', 'retake/testing'],
  ],
}

/** Longer values are not asserted literally; the replay compares them anyway. */
const ASSERTED_MAX = 500

function functionTest(tape: Tape, options: TestTextOptions, call: TestedCall): TestBody {
  const { runner } = options
  const [file = '', member = 'default'] = call.entry.split('#')
  const name = member === 'default' ? 'agent' : member
  const module = relativeFrom(options.test, path.resolve(file))
  const names = member === 'default' ? name : `{ ${name} }`
  const relative = `./${path.relative(path.dirname(options.test), options.tape).replaceAll('\\', '/')}`
  const run = `() => ${name}(${call.json ?? ''})`
  const where =
    runner === 'node'
      ? `fileURLToPath(new URL(${quote(relative)}, import.meta.url))`
      : quote(relative)
  const started =
    runner === 'node'
      ? `replay(${where}, ${run}, { compares: 'requests' })`
      : `tape(${where}, ${run})`
  const { error, result } = readOutcome(tape)
  const lines: string[] = []
  if (error !== undefined) {
    const message = quote(error.message)
    lines.push(
      runner === 'node'
        ? `await assert.rejects(${started}, { message: ${message} })`
        : `await expect(${started}).rejects.toThrow(${message})`,
    )
  } else {
    const json = JSON.stringify(result)
    lines.push(`const { output } = await ${started}`)
    if (json !== undefined && json.length <= ASSERTED_MAX)
      lines.push(
        runner === 'node' ? `assert.deepEqual(output, ${json})` : `expect(output).toEqual(${json})`,
      )
  }
  return {
    imports: [...FUNCTION_IMPORTS[runner], [names, module]],
    fixtures: runner === 'vitest' ? '{ tape }' : '',
    lines,
  }
}

const FUNCTION_IMPORTS: Readonly<Record<TestRunner, readonly Import[]>> = {
  vitest: [['{ expect, test }', 'retake/vitest']],
  jest: [
    ['{ test }', '@jest/globals'],
    ['{ expect, tape }', 'retake/jest'],
  ],
  node: [
    ['assert', 'node:assert/strict'],
    ['test', 'node:test'],
    ['{ fileURLToPath }', 'node:url'],
    ['{ replay }', 'retake'],
  ],
}

const equal = (runner: TestRunner, actual: string, expected: string, message?: string): string =>
  runner === 'node'
    ? `assert.equal(${actual}, ${expected}${message === undefined ? '' : `, ${message}`})`
    : `expect(${actual}${message === undefined || runner === 'jest' ? '' : `, ${message}`}).toBe(${expected})`

const quote = (text: string): string => JSON.stringify(text)

function relativeFrom(test: string, file: string): string {
  const relative = path.relative(path.dirname(test), file).replaceAll('\\', '/')
  return relative.startsWith('.') ? relative : `./${relative}`
}

function commandFor(runner: TestRunner, test: string, isCommonJs: boolean): string {
  const file = shellWord(fromHere(test))
  if (runner === 'vitest') return `npx vitest run ${file}`
  if (runner === 'node') return `node --test ${file}`
  return `${isCommonJs ? '' : 'NODE_OPTIONS=--experimental-vm-modules '}npx jest ${file}`
}
