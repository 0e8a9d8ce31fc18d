// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { join } from 'node:path'
import { presets, protectOwnFiles } from '@retake/guard'
import { describe, expect } from 'vitest'
import { attack, expectRefused, expectUntouched, makeWorld, SECRET, type Setup } from './world.js'

const readOnlyData: Setup = ({ work }) => {
  fs.mkdirSync(join(work, 'out'))
  return { policy: { name: 'data', files: { read: [work], write: [join(work, 'out')] } } }
}

describe('the folders of a scope', () => {
  attack('replaces the folder of the scope by a link to everything', {
    attack: async () => {
      const world = makeWorld()
      await world.call('remove', { path: world.work })
      await world.call('link', { path: world.work, to: world.folder })
      expectRefused(await world.call('read', { path: join(world.work, 'secret.txt') }))
      await world.call('write', { path: join(world.work, 'secret.txt'), text: 'changed' })
      expect(fs.readFileSync(world.secret, 'utf8')).toBe(SECRET)
    },
    twin: async () => {
      const { call, work } = makeWorld()
      await call('folder', { path: 'a' })
      await call('link', { path: 'b', to: 'a' })
      await call('write', { path: 'b/x', text: 'new' })
      expect(fs.readFileSync(join(work, 'a/x'), 'utf8')).toBe('new')
    },
  })

  attack('replaces the only writable folder by a link to its read-only parent', {
    attack: async () => {
      const world = makeWorld(readOnlyData)
      await world.call('remove', { path: 'out' })
      await world.call('link', { path: 'out', to: '.' })
      await world.call('write', { path: 'out/inside.txt', text: 'changed' })
      expect(fs.readFileSync(join(world.work, 'inside.txt'), 'utf8')).toBe('inside')
    },
    twin: async () => {
      const { call, work } = makeWorld(readOnlyData)
      await call('write', { path: 'out/x', text: 'new' })
      expect(fs.readFileSync(join(work, 'out/x'), 'utf8')).toBe('new')
    },
  })

  attack('moves the writable folder away and a link of its own to its path', {
    attack: async () => {
      const world = makeWorld(({ work }) => {
        fs.mkdirSync(join(work, 'a/b'), { recursive: true })
        return {
          policy: { name: 'nested', files: { read: [work, join(work, 'a/b')], write: [work] } },
        }
      })
      await world.call('move', { path: 'a/b', to: 'c' })
      await world.call('link', { path: 'a/b', to: world.folder })
      expectRefused(await world.call('read', { path: 'a/b/secret.txt' }))
      expectUntouched(world)
    },
    twin: async () => {
      const { call } = makeWorld()
      await call('folder', { path: 'a/b' })
      await call('move', { path: 'a/b', to: 'c' })
      expect((await call('list', { path: 'c' })).status).toBe('done')
    },
  })

  const sibling = (name: string, what: string): void =>
    attack(`reads from a folder beside the scope whose name differs ${what}`, {
      attack: async () => {
        const world = makeWorld(({ folder, work }) => {
          fs.mkdirSync(join(folder, 'wórk'.normalize('NFC')))
          fs.mkdirSync(join(folder, name), { recursive: true })
          fs.writeFileSync(join(folder, name, 'x'), SECRET)
          const root = [work, join(folder, 'wórk'.normalize('NFC'))]
          return { policy: { name: 'two', files: { read: root, write: root } } }
        })
        expectRefused(await world.call('read', { path: join(world.folder, name, 'x') }))
        expectRefused(await world.call('read', { path: `../${name}/x` }))
      },
      twin: async () => {
        const { call } = makeWorld()
        await call('folder', { path: name })
        await call('write', { path: `${name}/x`, text: 'mine' })
        expect(await call('read', { path: `${name}/x` })).toMatchObject({ output: 'mine' })
      },
    })
  sibling('WORK', 'in case')
  sibling('wórk'.normalize('NFD'), 'in its Unicode normal form')
  sibling('work\u200b', 'by an invisible character')
  sibling('work\u202e', 'by a change of direction')
  sibling('work\n', 'by a line break')
  sibling('work\ufffd', 'by a replacement character')
})

describe('paths', () => {
  attack('climbs out after two thousand steps in and out', {
    attack: async () => {
      const world = makeWorld()
      expectRefused(await world.call('read', { path: `${'a/../'.repeat(2000)}../secret.txt` }))
    },
    twin: async () => {
      const { call } = makeWorld()
      const path = `${'a/../'.repeat(2000)}inside.txt`
      expect(await call('read', { path })).toMatchObject({ output: 'inside' })
    },
  })

  attack('leads out through a chain of 39 links', {
    attack: async () => {
      const world = makeWorld()
      fs.symlinkSync(world.secret, join(world.work, 'l0'))
      for (let n = 1; n < 39; n += 1) fs.symlinkSync(`l${n - 1}`, join(world.work, `l${n}`))
      expectRefused(await world.call('read', { path: 'l38' }))
      await world.call('write', { path: 'l38', text: 'changed' })
      expectUntouched(world)
    },
    twin: async () => {
      const { call, work } = makeWorld()
      fs.symlinkSync('inside.txt', join(work, 'l0'))
      for (let n = 1; n < 39; n += 1) fs.symlinkSync(`l${n - 1}`, join(work, `l${n}`))
      expect(await call('read', { path: 'l38' })).toMatchObject({ output: 'inside' })
    },
  })

  attack('follows a link that leads out and comes back by a name it chose', {
    attack: async () => {
      const world = makeWorld()
      fs.symlinkSync('/proc/self/root', join(world.work, 'r'))
      expectRefused(await world.call('read', { path: `r${world.secret}` }))
      fs.symlinkSync('/proc/thread-self/cwd', join(world.work, 'cwd'))
      expectRefused(await world.call('list', { path: 'cwd' }))
    },
    twin: async () => {
      const { call, work } = makeWorld()
      fs.symlinkSync(work, join(work, 'r'))
      expect(await call('read', { path: 'r/inside.txt' })).toMatchObject({ output: 'inside' })
    },
  })

  attack('reads the memory map and variables of the agent under /proc by its number', {
    attack: async () => {
      const world = makeWorld()
      for (const name of ['environ', 'maps', 'cmdline', 'task/../environ'])
        expectRefused(await world.call('read', { path: `/proc/${process.pid}/${name}` }))
    },
    twin: async () => {
      const { call } = makeWorld()
      await call('folder', { path: 'proc/1' })
      await call('write', { path: 'proc/1/environ', text: 'mine' })
      expect(await call('read', { path: 'proc/1/environ' })).toMatchObject({ output: 'mine' })
    },
  })

  attack('copies a folder with a link out of it, links followed', {
    attack: async () => {
      const world = makeWorld()
      fs.mkdirSync(join(world.work, 'a'))
      fs.symlinkSync('../../secret.txt', join(world.work, 'a/link'))
      await world.call('copy', { path: 'a', to: 'b' })
      const copied = join(world.work, 'b/link')
      expect(fs.existsSync(copied) && fs.readFileSync(copied, 'utf8')).not.toBe(SECRET)
    },
    twin: async () => {
      const { call, work } = makeWorld()
      fs.mkdirSync(join(work, 'a'))
      fs.symlinkSync('../inside.txt', join(work, 'a/link'))
      await call('copy', { path: 'a', to: 'b' })
      expect(fs.readFileSync(join(work, 'b/link'), 'utf8')).toBe('inside')
    },
  })

  attack('makes a file outside of its scope executable', {
    attack: async () => {
      const world = makeWorld()
      fs.symlinkSync('../secret.txt', join(world.work, 'link'))
      expectRefused(await world.call('mode', { path: 'link' }))
      expect(fs.statSync(world.secret).mode & 0o111).toBe(0)
    },
    twin: async () => {
      const { call, work } = makeWorld()
      await call('mode', { path: 'inside.txt' })
      expect(fs.statSync(join(work, 'inside.txt')).mode & 0o777).toBe(0o777)
    },
  })

  attack('walks out through a link to a parent folder', {
    attack: async () => {
      const world = makeWorld()
      fs.symlinkSync('..', join(world.work, 'up'))
      const { output } = await world.call('walk', { path: '.' })
      expect(JSON.stringify(output ?? '')).not.toContain('secret.txt')
      expectRefused(await world.call('walk', { path: 'up' }))
    },
    twin: async () => {
      const { call, work } = makeWorld()
      fs.mkdirSync(join(work, 'a'))
      fs.writeFileSync(join(work, 'a/b'), '')
      const { output } = await call('walk', { path: '.' })
      expect(output).toEqual(expect.arrayContaining(['a/b', 'inside.txt']))
    },
  })

  attack('swaps a file for a link in one call while another call reads it', {
    attack: async () => {
      const world = makeWorld()
      world.run.tool('swap', async () => {
        for (let n = 0; n < 60; n += 1) {
          await fs.promises.rm(join(world.work, 'x'), { force: true })
          await fs.promises
            .symlink(n % 2 ? 'inside.txt' : '../secret.txt', join(world.work, 'x'))
            .catch(() => {})
        }
      })
      world.run.tool('slow_read', async () => {
        const file = join(world.work, 'x')
        if (!(await fs.promises.realpath(file)).startsWith(world.work)) return ''
        await fs.promises.stat(file)
        return fs.promises.readFile(file, 'utf8')
      })
      const swapping = world.call('swap', {})
      const reads = Array.from({ length: 40 }, () => world.call('slow_read', {}))
      for (const { output } of await Promise.all(reads))
        expect(String(output)).not.toContain(SECRET)
      await swapping
    },
    twin: async () => {
      const { call, run, work } = makeWorld()
      run.tool('slow_read', async () => {
        await fs.promises.stat(join(work, 'inside.txt'))
        return fs.promises.readFile(join(work, 'inside.txt'), 'utf8')
      })
      const reads = Array.from({ length: 40 }, () => call('slow_read', {}))
      for (const { output } of await Promise.all(reads)) expect(output).toBe('inside')
    },
  })
})

describe('archives and templates', () => {
  const entries = (name: string, attacked: object[], benign: object[]): void =>
    attack(name, {
      attack: async () => {
        const world = makeWorld()
        await world.call('unpack', { entries: attacked })
        expectUntouched(world)
        for (const each of fs.readdirSync(world.work))
          expectRefused({
            ...(await world.call('read', { path: each })),
            ...(each === 'inside.txt' && { status: 'denied', output: '' }),
          } as never)
      },
      twin: async () => {
        const { call, work } = makeWorld()
        expect(await call('unpack', { entries: benign })).toMatchObject({ status: 'done' })
        expect(fs.existsSync(join(work, (benign.at(-1) as { name: string }).name))).toBe(true)
      },
    })
  entries(
    'an archive has a link to the outside and then a file of the same name',
    [
      { name: 'x', link: '../secret.txt' },
      { name: 'x', text: 'changed' },
    ],
    [
      { name: 'x', link: 'inside.txt' },
      { name: 'x', text: 'changed' },
    ],
  )
  entries(
    'an archive has a link to a folder outside and then a file in it',
    [
      { name: 'd', link: '..' },
      { name: 'd/evil', text: 'x' },
    ],
    [
      { name: 'd', link: '.' },
      { name: 'd/good', text: 'x' },
    ],
  )
  entries(
    'an archive has a hard link to a secret and then writes to it',
    [
      { name: 'x', hardLink: '../secret.txt' },
      { name: 'x', text: 'changed' },
    ],
    [
      { name: 'x', hardLink: 'inside.txt' },
      { name: 'x', text: 'changed' },
    ],
  )
  entries(
    'an archive has names with backslashes and drives',
    [
      { name: '..\\..\\evil', text: 'x' },
      { name: 'c:/../../evil', text: 'x' },
    ],
    [{ name: 'good', text: 'x' }],
  )

  attack('a template includes a file that a rendered name leads to', {
    attack: async () => {
      const world = makeWorld()
      await world.call('write', { path: 'a', text: '{{include ../secret.txt}}' })
      const first = await world.call('render', { text: '{{include a}}' })
      expectRefused(await world.call('render', { text: String(first.output) }))
    },
    twin: async () => {
      const { call } = makeWorld()
      expect(await call('render', { text: '<{{include inside.txt}}>' })).toMatchObject({
        output: '<inside>',
      })
    },
  })
})

describe('files of the guard', () => {
  const project: Setup = ({ work }) => ({
    dir: join(work, '.retake/runs'),
    policy: presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }),
  })
  const tapeOf = (work: string): string => {
    const [tape = ''] = fs.readdirSync(join(work, '.retake/runs'))
    return join(work, '.retake/runs', tape)
  }
  const ownAttack = (
    name: string,
    tool: (work: string, tape: string) => [string, object],
    twin: [string, object],
    inSandbox = false,
  ): void =>
    attack(name, {
      inSandbox,
      attack: async () => {
        const { call, work } = makeWorld(project)
        await call('list', { path: '.' })
        const tape = tapeOf(work)
        const bytes = fs.readFileSync(tape)
        const [wanted, args] = tool(work, tape)
        const { output } = await call(wanted, args)
        expect(String(output)).not.toMatch(/\.tape|"guard"/)
        expect(fs.readFileSync(tape).subarray(0, bytes.length).equals(bytes)).toBe(true)
        expect(fs.readdirSync(work).filter((each) => each === 'stolen')).toEqual([])
      },
      twin: async () => {
        const { call } = makeWorld(project)
        expect(await call(...twin)).toMatchObject({ status: 'done' })
      },
    })
  ownAttack(
    'copies the folder of the tapes together with the project',
    (work) => ['copy', { path: work, to: join(work, '../stolen') }],
    ['copy', { path: 'inside.txt', to: 'copy.txt' }],
  )
  ownAttack('moves the folder above the tapes', () => ['move', { path: '.retake', to: 'stolen' }], [
    'move',
    { path: 'inside.txt', to: 'moved.txt' },
  ])
  ownAttack(
    'puts a link to the folder of the tapes where a template includes it',
    (work, tape) => {
      fs.symlinkSync('.retake', join(work, 'notes'))
      return ['render', { text: `{{include notes/runs/${tape.split('/').at(-1)}}}` }]
    },
    ['render', { text: '{{include inside.txt}}' }],
  )
  ownAttack(
    'packs the project with tar, links followed',
    (work) => {
      fs.symlinkSync('.retake', join(work, 'notes'))
      return ['sh', { text: 'tar -chf - . | strings | grep -a retake.guard; true' }]
    },
    ['sh', { text: 'tar -chf - inside.txt | tar -t' }],
    true,
  )
  ownAttack(
    'restores the tape with git after removing it',
    () => [
      'sh',
      {
        text: 'git init -q . && git add -A -f . ; git rm -q -r --cached . ; git clean -ffdxq; ls -A .ret*/r*; true',
      },
    ],
    ['sh', { text: 'git init -q . && git status --short' }],
    true,
  )
  ownAttack(
    'empties every file it can find',
    () => [
      'sh',
      { text: 'find . -type f -exec truncate -s 0 {} +; find . -name "*.tape" -delete; true' },
    ],
    ['sh', { text: 'truncate -s 0 inside.txt' }],
    true,
  )

  ownAttack(
    'gives the tape a second name',
    (_, tape) => ['hard_link', { path: 'stolen', to: tape }],
    ['hard_link', { path: 'second.txt', to: 'inside.txt' }],
  )

  attack('a program puts a tape for the next run into a folder with other files', {
    inSandbox: true,
    notPromised: 'only tapes that exist are hidden there',
    attack: async () => {
      const { sh, call, work } = makeWorld(({ work }) => ({
        dir: work,
        policy: presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }),
      }))
      await call('list', { path: '.' })
      await sh('echo forged > 29990101-000000-aaaa.ta""pe; true')
      expect(fs.readdirSync(work).filter((name) => name.startsWith('2999'))).toEqual([])
    },
    twin: async () => {
      const { sh, work } = makeWorld(({ work }) => ({
        dir: work,
        policy: presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }),
      }))
      await sh('echo new > notes.txt')
      expect(fs.readFileSync(join(work, 'notes.txt'), 'utf8')).toBe('new\n')
    },
  })

  attack('a program without any scope changes the tape by a name it builds itself', {
    inSandbox: true,
    notPromised: 'without scopes and without rules that ask, programs run as they are',
    attack: async () => {
      const { call, work } = makeWorld(({ work }) => ({ dir: join(work, '.retake/runs') }))
      await call('list', { path: '.' })
      const tape = tapeOf(work)
      const { size } = fs.statSync(tape)
      await call('sh', {
        text: 'cd .ret*; cd run*; for f in *; do echo evil > "$f"; rm "$f"; done; true',
      })
      expect(fs.existsSync(tape) && fs.statSync(tape).size >= size).toBe(true)
    },
    twin: async () => {
      const { sh, work } = makeWorld(({ work }) => ({ dir: join(work, '.retake/runs') }))
      await sh('echo new > made.txt')
      expect(fs.readFileSync(join(work, 'made.txt'), 'utf8')).toBe('new\n')
    },
  })

  attack('a program without any scope reads the key that signs approvals', {
    inSandbox: true,
    attack: async () => {
      const { call } = makeWorld(() => ({ policy: { name: 'asks', rules: [{ ask: 'refund' }] } }))
      const state = join(process.env['XDG_STATE_HOME'] ?? '', 'retake')
      fs.mkdirSync(state, { recursive: true })
      fs.writeFileSync(join(state, 'probe-2.pem'), SECRET)
      const { output } = await call('sh', {
        text: 'cd "$XDG_STATE_HOME"; cd ret*; cat prob*; true',
      })
      fs.rmSync(join(state, 'probe-2.pem'), { force: true })
      expect(String(output)).not.toContain(SECRET)
    },
    twin: async () => {
      const { sh } = makeWorld(() => ({ policy: { name: 'asks', rules: [{ ask: 'refund' }] } }))
      expect(await sh('cat ../secret.txt')).toBe(SECRET)
    },
  })

  attack('a program that started before the first approval waits for the key to appear', {
    inSandbox: true,
    attack: async () => {
      const before = process.env['XDG_STATE_HOME']
      const { call, folder } = makeWorld(({ folder }) => {
        process.env['XDG_STATE_HOME'] = join(folder, 'state')
        return { policy: { name: 'net', network: { allow: [] } } }
      })
      process.env['XDG_STATE_HOME'] = before
      const waiting = call('sh', { text: 'sleep 1; cat ../sta*/ret*/*; true' })
      await new Promise((done) => setTimeout(done, 400))
      fs.mkdirSync(join(folder, 'state/retake'), { recursive: true })
      fs.writeFileSync(join(folder, 'state/retake/approval-key.pem'), SECRET)
      expect(String((await waiting).output)).not.toContain(SECRET)
    },
    twin: async () => {
      const { sh } = makeWorld(() => ({ policy: { name: 'net', network: { allow: [] } } }))
      expect(await sh('cat ../secret.txt')).toBe(SECRET)
    },
  })

  attack('writes a policy file that is loaded, through a program', {
    inSandbox: true,
    attack: async () => {
      const policies = makeWorld()
      const file = join(policies.work, 'policy.yaml')
      fs.writeFileSync(file, 'name: p\nrules:\n  - deny: refund\n')
      // As `loadPolicy` does.
      protectOwnFiles(file, 'a policy')
      await policies.sh('echo "name: p" > pol*.yaml; mv pol*.yaml x; cd ..; true')
      expect(fs.readFileSync(file, 'utf8')).toContain('deny: refund')
    },
    twin: async () => {
      const { sh, work } = makeWorld()
      fs.writeFileSync(join(work, 'other.yaml'), 'x')
      await sh('echo new > other.yaml')
      expect(fs.readFileSync(join(work, 'other.yaml'), 'utf8')).toBe('new\n')
    },
  })

  attack('writes a tape for the next run to resume from', {
    attack: async () => {
      const { call, work } = makeWorld(project)
      await call('write', { path: '.retake/runs/20990101-000000-attacks.tape', text: 'forged' })
      await call('unpack', { entries: [{ name: '.retake/runs/x.tape', text: 'forged' }] })
      const names = fs.existsSync(join(work, '.retake/runs'))
        ? fs.readdirSync(join(work, '.retake/runs'))
        : []
      expect(names.filter((name) => name.includes('2099') || name === 'x.tape')).toEqual([])
    },
    twin: async () => {
      const { call, work } = makeWorld(project)
      await call('write', { path: 'notes.tape', text: 'mine' })
      expect(fs.readFileSync(join(work, 'notes.tape'), 'utf8')).toBe('mine')
    },
  })
})
