/**
 * `node bench/crash-resume/run.mjs`: what happens to refunds when an agent is killed at one of
 * them and started again as its framework documents. Installs what is missing from the package
 * registries into a temporary folder. Prints a table for docs/benchmarks.md.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const cli = join(here, '../../packages/cli')
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'retake-crash-resume-'))

/** Packages that the tests of this repository use. Their newest versions may not fit together. */
const OWN = [
  '@langchain/core',
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint',
  '@langchain/openai',
  '@openai/agents',
  'openai',
  'zod',
]

async function install() {
  cpSync(here, folder, { recursive: true })
  await run('npm', ['init', '-y'], { cwd: folder })
  const flags = ['--no-audit', '--no-fund', '--legacy-peer-deps', '--loglevel=error']
  // Compiling SQLite prints a lot.
  const options = { cwd: folder, maxBuffer: 1e9 }
  await run('npm', ['install', ...flags, '@langchain/langgraph-checkpoint-sqlite'], options)
  mkdirSync(join(folder, 'node_modules/@openai'), { recursive: true })
  const modules = join(here, '../../node_modules')
  for (const name of OWN) symlinkSync(join(modules, name), join(folder, 'node_modules', name))
  symlinkSync(cli, join(folder, 'node_modules/retake'))
  await run('python3', ['-m', 'venv', 'python'], { cwd: folder })
  await run('python/bin/pip', ['install', '--quiet', 'crewai'], { cwd: folder })
}

const node = (file) => [process.execPath, file]
const retake = [process.execPath, join(cli, 'bin/retake.mjs')]
const guarded = node('retake-guard.mjs')
const AGENTS = [
  { name: 'OpenAI Agents, session in a file', start: node('openai-agents.mjs') },
  { name: 'LangGraph, SQLite checkpointer', start: node('langgraph.mjs') },
  { name: 'CrewAI', start: ['python/bin/python', 'crew.py'] },
  { name: 'Retake guard', start: guarded },
  { name: 'Retake guard, tool with `verify`', start: guarded, env: { VERIFY: '1' } },
  {
    name: 'the same with `retake record` and `retake resume`',
    start: [...retake, 'record', 'retake-guard.mjs'],
    again: [...retake, 'resume', 'last'],
    env: { VERIFY: '1' },
  },
]

/** Starts an agent that is killed, starts it again, and asks the services what happened. */
async function crash({ start, again = start, env }, moment) {
  const services = spawn(process.execPath, [join(here, 'services.mjs'), moment], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = await once(services.stdout, 'data')
  const url = `http://127.0.0.1:${String(port).trim()}`
  const state = mkdtempSync(join(folder, 'state-'))
  const options = {
    cwd: folder,
    env: { ...process.env, SERVICES: url, STATE: join(state, 'state'), ...env },
  }
  const exits = []
  for (const [file, ...args] of [start, again]) {
    const exit = await run(file, args, options).then(
      () => 0,
      (error) => error.signal ?? error.code,
    )
    exits.push(exit)
  }
  const { refunds, modelCalls } = await (await fetch(url)).json()
  services.stdin.end()
  return { refunds, modelCalls, end: exits[1] === 0 ? 'complete' : 'stopped' }
}

try {
  await install()
  console.log('| | killed after paying order 3 | killed before paying | model calls |')
  console.log('|---|---|---|---|')
  for (const agent of AGENTS) {
    const found = [await crash(agent, 'after'), await crash(agent, 'before')]
    const cells = found.map(({ refunds, end }) => `${refunds.join(' ')}, ${end}`)
    console.log(`| ${[agent.name, ...cells, found[0].modelCalls].join(' | ')} |`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
