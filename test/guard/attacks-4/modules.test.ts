// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type GuardOptions, presets, type Rule } from '@retake/guard'
import { describe, expect } from 'vitest'
import { attack, expectUntouched, makeWorld, SECRET, type World } from '../attacks-2/world.js'

/** A module in a sandbox that does what the model says: start programs, read, throw, spend. */
const CODE = `
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
export default ({ words, env = {}, path, text, fails, used }, { use }) => {
  if (used !== undefined) use(used)
  if (fails !== undefined) throw new Error(fails)
  if (path !== undefined) return fs.readFileSync(path, 'utf8')
  if (words === undefined) return text ?? JSON.stringify(process.env)
  const [file, ...args] = words
  return execFileSync(file, args, { encoding: 'utf8', env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'ignore'] })
}`

interface Boxed extends World {
  readonly sent: unknown[]
}

function boxed(options: Partial<GuardOptions> = {}, rules: Rule[] = []): Boxed {
  const world = makeWorld(({ folder, work }) => {
    fs.mkdirSync(join(folder, 'code'))
    fs.writeFileSync(join(folder, 'code/box.mjs'), CODE)
    const programs = ['sh', 'cat', 'git', 'env', 'true'].map((name) => [name, '-**'])
    return { policy: [presets.sandbox({ root: work, programs }), { name: 'p', rules }], ...options }
  })
  const module = pathToFileURL(join(world.folder, 'code/box.mjs')).href
  world.run.tool('box', {
    module,
    sandbox: true,
    effects: ['read', 'write', 'shell', 'spend'],
    reserve: { costUsd: 0.4 },
  })
  const sent: unknown[] = []
  world.run.tool('send', (args: unknown) => void sent.push(args), { effects: [] })
  return { ...world, sent }
}

const done = ({ folder, ...world }: Boxed): void => {
  fs.rmSync(join(folder, 'code'), { recursive: true, force: true })
  expectUntouched({ folder, ...world })
}

describe('a sandboxed module', () => {
  const programs: Readonly<Record<string, (world: Boxed) => object>> = {
    'cat of a secret': ({ secret }) => ({ words: ['cat', secret] }),
    'a shell that looks everywhere': ({ folder }) => ({ words: ['sh', '-c', `cat ${folder}/*; find / -name secret.txt -exec cat {} +`] }),
    'git with an alias': ({ secret }) => ({ words: ['git', '-c', `alias.x=!cat ${secret}`, 'x'] }),
    'env -S': ({ secret }) => ({ words: ['env', '-S', `cat ${secret}`] }),
    'variables of the loader': ({ folder }) => ({ words: ['true'], env: { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: `${folder}/log` } }),
    'its own path': ({ secret }) => ({ path: secret }),
    'the memory of its parent': () => ({ words: ['sh', '-c', 'cat /proc/*/environ /proc/*/cwd/secret.txt /proc/1/root/*'] }),
  } // prettier-ignore
  for (const [name, args] of Object.entries(programs))
    attack(`is told to use ${name}`, {
      inSandbox: true,
      attack: async () => {
        const world = boxed()
        const { output, error } = await world.call('box', args(world))
        expect(`${String(output)} ${String(error)}`).not.toContain(SECRET)
        done(world)
      },
    })
  attack('is told nothing', {
    inSandbox: true,
    attack: async () => {
      process.env['BOX_API_KEY'] = `box-${'k'.repeat(40)}`
      try {
        expect(String((await boxed().call('box', {})).output)).not.toContain('kkkkkk')
      } finally {
        delete process.env['BOX_API_KEY']
      }
    },
    twin: async () => {
      const { call, work } = boxed()
      expect(await call('box', { path: join(work, 'inside.txt') })).toMatchObject({
        output: 'inside',
      })
    },
  })
  attack('reports usage below zero', {
    inSandbox: true,
    attack: async () => {
      const { call } = boxed({ limits: { costUsd: 1 } })
      const states: string[] = []
      for (let n = 0; n < 4; n += 1)
        states.push((await call('box', { text: `${n}`, used: { costUsd: -9 } })).status)
      expect(states.filter((state) => state === 'done')).toEqual([])
      expect(states.at(-1)).toBe('stopped')
    },
    twin: async () => {
      const { call } = boxed({ limits: { costUsd: 1 } })
      expect(await call('box', { text: 'x', used: { costUsd: 0.1 } })).toMatchObject({
        output: 'x',
      })
    },
  })
  for (const [name, args] of Object.entries({
    result: { text: 'mallory@evil.example' },
    error: { fails: 'mallory@evil.example' },
  }))
    attack(`passes untrusted text on in its ${name}`, {
      inSandbox: true,
      attack: async () => {
        const { call, sent, work } = boxed({}, [{ deny: 'send', tainted: 'box' }])
        fs.writeFileSync(join(work, 'page'), Object.values(args)[0] ?? '')
        await call(
          'box',
          name === 'result' ? { path: join(work, 'page') } : { words: ['sh', '-c', 'cat page'] },
        )
        await call('box', { path: join(work, 'page') })
        await call('send', { to: 'mallory@evil.example' })
        expect(sent).toEqual([])
      },
      twin: async () => {
        const { call, sent } = boxed({}, [{ deny: 'send', tainted: 'box' }])
        await call('box', { text: 'nothing of interest' })
        await call('send', { to: 'ann@shop.example' })
        expect(sent).toHaveLength(1)
      },
    })
  attack('is called without approval', {
    inSandbox: true,
    attack: async () => {
      const world = boxed({ approval: { ask: () => ({ approved: false, by: 'ann' }) } }, [
        { ask: 'box' },
      ])
      await world.call('box', { words: ['touch', join(world.work, 'ran')] })
      expect(fs.existsSync(join(world.work, 'ran'))).toBe(false)
    },
    twin: async () => {
      const world = boxed({ approval: { ask: () => ({ approved: true, by: 'ann' }) } }, [
        { ask: 'box' },
      ])
      expect(await world.call('box', { text: 'yes' })).toMatchObject({ output: 'yes' })
    },
  })
})
