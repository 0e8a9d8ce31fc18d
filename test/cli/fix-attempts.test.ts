import type { FixResult, JudgedFix } from '@retake/lab/proof'
import { expect, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { soakOnly } from '../support/soak.js'
import { block, projectWith, wrongWord } from './fix-project.js'

/** The right change, and other code. */
const rightWith = (code: string): string =>
  block(
    "if (verdict !== 'pays'",
    `try { ${code} } catch {}
if (verdict !== 'pay'`,
  )

const attemptsIn = ({ fixes }: FixResult) =>
  fixes.flatMap(({ candidate, evidence, verdict }: JudgedFix) =>
    candidate.author === 'model' ? [{ status: verdict.status, attempts: evidence.attempts }] : [],
  )

/** Names of functions that write, and addresses, which review would find before the code runs. */
const hidden = (code: string): string =>
  code
    .replaceAll(/\b(files|later)\.(\w)(\w+)(?=[(,])/g, "$1['$2' + '$3']")
    .replaceAll("'http://", "'http:' + '//")

const KINDS = [
  { name: 'in bubblewrap', args: [], env: {}, isHere: hasSandbox },
  {
    name: "under Node's permission model",
    args: [],
    env: { RETAKE_SANDBOX: 'off' },
    isHere: true,
  },
  {
    name: 'without a sandbox',
    args: ['--no-sandbox'],
    env: { RETAKE_SANDBOX: 'off' },
    isHere: true,
  },
]

for (const { name, args, env, isHere } of KINDS) {
  test(`what a change tries is reported, although the run passes: ${name}`, async (context) => {
    context.skip(!isHere, 'there is no bubblewrap')
    const { patches, fix, env: shared } = await projectWith(['8'], wrongWord)
    Object.assign(shared, env)
    patches.push(
      rightWith(
        hidden(`
  const [files] = [(await import('node:fs')).default]
  const [later] = [files.promises]
  const { default: dns } = await import('node:dns')
  const tries = [
    () => files.writeFileSync('/opt/escaped-sync.txt', 'x'),
    () => later.writeFile('/opt/escaped-promise.txt', 'x'),
    () => void files.createWriteStream('/opt/escaped-stream.txt').on('error', () => {}),
    () => files.mkdirSync('/opt/escaped-folder'),
    () => files.symlinkSync('/opt/escaped-target', 'link'),
    () => files.renameSync('agent.mjs', '/opt/escaped-name.mjs'),
    () => files.rmSync('/opt/escaped-removed', { force: true }),
    () => files.openSync(new URL('file:///opt/escaped-open.txt'), 'a'),
    () => files.writeFileSync('package.json', '{}'),
    () => later.appendFile('test/agent.test.mjs', ''),
    () => files.writeFileSync('retake.config.json', '{}'),
    () => process.env.ESCAPED_VARIABLE,
    () => ({ ...process.env }),
    () => dns.promises.lookup('escaped.invalid'),
    () => process.on('exit', () => files.writeFileSync('/opt/escaped-at-exit.txt', 'x')),
    () => setImmediate(files.writeFile, '/opt/escaped-later.txt', 'x', () => {}),
  ]
  for (const each of tries) try { await each() } catch {}
  await new Promise((resolve) => setTimeout(resolve, 50))
`),
      ),
    )
    const fixed = await fix('last', '--model', 'writer', '--no-locate', '--offline', ...args)
    expect(fixed.result, fixed.said).toBeDefined()
    const [judged] = attemptsIn(fixed.result!)
    expect(judged?.status).toBe('rejected')
    const tried = judged?.attempts.map(({ code, what }) => `${code} ${what}`) ?? []
    expect(tried).toEqual([
      'WRITE /opt/escaped-sync.txt',
      'WRITE /opt/escaped-promise.txt',
      'WRITE /opt/escaped-stream.txt',
      'WRITE /opt/escaped-folder',
      'WRITE /opt/escaped-target',
      'WRITE /opt/escaped-name.mjs',
      'WRITE /opt/escaped-removed',
      'WRITE /opt/escaped-open.txt',
      'WRITE_PROTECTED package.json',
      'WRITE_PROTECTED test/agent.test.mjs',
      'WRITE_PROTECTED retake.config.json',
      'READ_VARIABLE *',
      'CONNECT escaped.invalid',
      'WRITE /opt/escaped-later.txt',
      'WRITE /opt/escaped-at-exit.txt',
    ])
  })
}

for (const { name, args, env, isHere } of KINDS) {
  test(`processes, servers, connections and variables are reported: ${name}`, async (context) => {
    context.skip(!isHere, 'there is no bubblewrap')
    // Nine candidates take as long as all other tests of this file.
    if (args.length > 0) soakOnly()
    // Static review refuses the modules, so the agent has them already.
    const {
      patches,
      fix,
      env: shared,
    } = await projectWith(
      ['8'],
      `import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import worker from 'node:worker_threads'
import http from 'node:http'
import net from 'node:net'
${wrongWord}`,
    )
    Object.assign(shared, env)
    const tried: string[] = []
    const tries = [
      "childProcess.spawn('escaped-spawn', ['-x'])",
      "childProcess.execSync('escaped-exec -x')",
      "childProcess.fork('escaped-fork.mjs')",
      "net.createServer().listen(65123, '127.0.0.1')",
      "http.get('http://127.0.0.1:65124/')",
      "await fetch('http://127.0.0.1:65125/escaped')",
      "new worker.Worker('escaped-worker.mjs')",
      'process.env.ESCAPED_VARIABLE',
      "dgram.createSocket('udp4').send('x', 65126, '127.0.0.1')",
    ]
    while (tries.length > 0) {
      patches.push(...tries.splice(0, 3).map((text) => rightWith(hidden(text))))
      const { result, said } = await fix('last', '--model', 'writer', '--no-locate', ...args)
      expect(result, said).toBeDefined()
      const judged = attemptsIn(result!)
      expect(judged.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
      tried.push(
        ...judged.map(({ attempts }) => attempts.map(({ code, what }) => `${code} ${what}`).join()),
      )
    }
    expect(tried).toEqual([
      'SPAWN escaped-spawn -x',
      'SPAWN escaped-exec -x',
      'SPAWN node escaped-fork.mjs',
      'LISTEN 127.0.0.1:65123',
      'CONNECT 127.0.0.1:65124',
      'CONNECT 127.0.0.1:65125',
      'SPAWN a thread of escaped-worker.mjs',
      'READ_VARIABLE ESCAPED_VARIABLE',
      'CONNECT a datagram socket',
    ])
  })
}

/** Compares with the wrong word, after it wrote to its own folder and to a temporary one. */
const writing = `
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
${wrongWord.replace(
  /if \(verdict[^]*/,
  `mkdirSync('data', { recursive: true })
writeFileSync('data/last.json', JSON.stringify({ verdict: 'none' }))
appendFileSync(tmpdir() + '/decisions-of-agent.log', id)
if (verdict !== 'pays' && verdict !== 'deny') process.exitCode = 1
console.log('RESULT', verdict)
if (verdict === 'pay' && process.exitCode !== 1) {
  mkdirSync(tmpdir() + '/agent-' + process.pid, { recursive: true })
  console.error(process.env.AGENT_MODE, process.env.HOME)
}
`,
)}`

for (const { name, args, env, isHere } of KINDS) {
  test(`a right change that does what the code did before is not reported: ${name}`, async (context) => {
    context.skip(!isHere, 'there is no bubblewrap')
    const { patches, fix, env: shared } = await projectWith(['8'], writing)
    Object.assign(shared, env)
    patches.push(
      block(
        `writeFileSync('data/last.json', JSON.stringify({ verdict: 'none' }))
appendFileSync(tmpdir() + '/decisions-of-agent.log', id)
if (verdict !== 'pays'`,
        `writeFileSync('data/last.json', JSON.stringify({ verdict }))
writeFileSync('data/seen.json', JSON.stringify([verdict]))
appendFileSync(tmpdir() + '/decisions-of-agent.log', id + verdict)
console.log('NOTE', readFileSync('package.json', 'utf8').length, new Date().getFullYear() > 2000)
if (verdict !== 'pay'`,
      ),
    )
    const { result, said } = await fix('last', '--model', 'writer', '--no-locate', ...args)
    expect(result, said).toBeDefined()
    expect(attemptsIn(result!), said).toEqual([{ status: 'repairs', attempts: [] }])
  })
}
