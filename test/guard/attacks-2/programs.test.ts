// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import dgram from 'node:dgram'
import fs from 'node:fs'
import { createServer, type Server as ConnectionServer } from 'node:net'
import { join } from 'node:path'
import { presets } from '@retake/guard'
import { describe, expect, onTestFinished, vi } from 'vitest'
import {
  attack,
  isRunning,
  expectRefused,
  expectUntouched,
  makeWorld,
  sandboxed,
  SECRET,
  type Setup,
  shareServer,
  type World,
} from './world.js'

const inSandbox = true
const server = shareServer()

/** Commands that copy the secret into the work folder and leave a mark beside it. */
const steal = ({ folder, work }: World): string =>
  `cat ${folder}/sec*.txt > ${work}/loot 2>&1; touch ${folder}/escaped; echo ran > ${work}/ran`

function expectNothingStolen(world: World): void {
  const loot = join(world.work, 'loot')
  expect(fs.existsSync(loot) ? fs.readFileSync(loot, 'utf8') : '').not.toContain(SECRET)
  expectUntouched(world)
}

/** Files that the model writes decide what a listed program runs. */
const configured = (
  name: string,
  files: (world: World, command: string) => Record<string, string>,
  words: string[],
  prepare?: (world: World) => void,
): void =>
  attack(name, {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      prepare?.(world)
      for (const [path, text] of Object.entries(files(world, steal(world))))
        expect(await world.call('write', { path, text })).toMatchObject({ status: 'done' })
      await world.call('program', { words })
      expectNothingStolen(world)
    },
    twin: async () => {
      const world = makeWorld()
      prepare?.(world)
      const files_ = files(world, `echo ran > ${world.work}/ran`)
      for (const [path, text] of Object.entries(files_)) await world.call('write', { path, text })
      await world.call('program', { words })
      expect(fs.readFileSync(join(world.work, 'ran'), 'utf8')).toBe('ran\n')
    },
  })

const initGit = ({ work }: World): void => {
  execFileSync('git', ['init', '-q', work])
  execFileSync('git', ['-C', work, 'add', 'inside.txt'])
  fs.writeFileSync(join(work, 'inside.txt'), 'changed')
}

describe('files that configure a program', () => {
  configured(
    'scripts of package.json',
    (_, command) => ({ 'package.json': JSON.stringify({ scripts: { test: command } }) }),
    ['npm', 'test', '--silent'],
  )
  configured(
    'a shell for scripts in .npmrc',
    ({ work }, command) => ({
      'package.json': JSON.stringify({ scripts: { test: 'true' } }),
      '.npmrc': `script-shell=${work}/shell\n`,
      shell: `#!/bin/sh\n${command}\n`,
    }),
    ['npm', 'test', '--silent'],
    ({ work }) => fs.writeFileSync(join(work, 'shell'), '', { mode: 0o755 }),
  )
  configured(
    'commands that make runs while it reads a Makefile',
    (_, command) => ({ Makefile: `X := $(shell ${command})\nall:\n\t@true\n` }),
    ['make', '-s'],
  )
  configured(
    'a converter in .gitattributes',
    ({ work }, command) => ({
      '.gitattributes': '*.txt diff=evil\n',
      '.git/config': `[core]\n\trepositoryformatversion = 0\n[diff "evil"]\n\ttextconv = "sh ${work}/convert"\n`,
      convert: `${command}\ncat "$1"\n`,
    }),
    ['git', 'diff'],
    initGit,
  )
  configured(
    'hooks of a repository',
    (_, command) => ({ '.git/hooks/post-checkout': `#!/bin/sh\n${command}\n` }),
    ['git', 'checkout', '-q', '-b', 'new'],
    (world) => {
      initGit(world)
      const identity = ['-c', 'user.name=x', '-c', 'user.email=x@example.com']
      execFileSync('git', ['-C', world.work, ...identity, 'commit', '-qm', 'x'])
      fs.writeFileSync(join(world.work, '.git/hooks/post-checkout'), '', { mode: 0o755 })
    },
  )
  configured(
    'actions of tar at checkpoints',
    ({ work }, command) => ({ act: command, [`x`]: work }),
    ['tar', '-cf', 'x.tar', '--checkpoint=1', '--checkpoint-action=exec=sh act', 'inside.txt'],
  )

  attack('a repository whose folder is somewhere else', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      execFileSync('git', ['init', '-q', join(world.folder, 'other')])
      fs.writeFileSync(join(world.folder, 'other/x'), SECRET)
      execFileSync('git', ['-C', join(world.folder, 'other'), 'add', 'x'])
      await world.call('write', { path: '.git', text: `gitdir: ../other/.git\n` })
      const { output } = await world.call('program', { words: ['git', 'show', ':x'] })
      expect(String(output)).not.toContain(SECRET)
    },
    twin: async () => {
      const world = makeWorld()
      execFileSync('git', ['init', '-q', join(world.work, 'other')])
      fs.writeFileSync(join(world.work, 'other/x'), 'mine')
      execFileSync('git', ['-C', join(world.work, 'other'), 'add', 'x'])
      await world.call('write', { path: '.git', text: `gitdir: other/.git\n` })
      expect(await world.call('program', { words: ['git', 'show', ':x'] })).toMatchObject({
        output: 'mine',
      })
    },
  })

  attack('a link that a tool plants and a program follows', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      fs.symlinkSync(world.folder, join(world.work, 'up'))
      expect(
        await world.sh('cat up/secret.txt; echo x > up/escaped; cp -rL up loot; true'),
      ).not.toContain(SECRET)
      expectUntouched(world)
    },
    twin: async () => {
      const world = makeWorld()
      fs.symlinkSync('.', join(world.work, 'up'))
      expect(await world.sh('cat up/inside.txt')).toBe('inside')
    },
  })

  attack('a folder of the scope that was moved away, and a link of a program in its path', {
    inSandbox,
    attack: async () => {
      const setup: Setup = ({ work }) => {
        fs.mkdirSync(join(work, 'docs'))
        return {
          policy: presets.sandbox({
            root: work,
            read: [join(work, 'docs')],
            programs: [['sh', '-c', '*']],
          }),
        }
      }
      const world = makeWorld(setup)
      await world.call('move', { path: 'docs', to: 'old' })
      await world.call('sh', { text: `ln -s ${world.folder} docs` })
      expectRefused(await world.call('read', { path: 'docs/secret.txt' }))
      expect(await world.sh('cat docs/sec*.txt; true')).not.toContain(SECRET)
    },
    twin: async () => {
      const world = makeWorld()
      await world.call('folder', { path: 'docs' })
      await world.call('move', { path: 'docs', to: 'old' })
      await world.sh('ln -s old docs; echo x > docs/x')
      expect(await world.call('read', { path: 'docs/x' })).toMatchObject({ output: 'x\n' })
    },
  })
})

describe('processes', () => {
  attack('signals processes outside', {
    inSandbox,
    attack: async () => {
      const other = spawn('sleep', ['30'])
      onTestFinished(() => void other.kill('SIGKILL'))
      const { sh } = makeWorld()
      await sh(`kill -9 ${other.pid} ${process.pid}; kill -9 -1; true`).catch(() => {})
      await new Promise((done) => setTimeout(done, 50))
      expect(other.exitCode ?? other.signalCode).toBe(null)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('sleep 30 & kill $!; wait $!; echo $?')).toMatch(/^143\n/)
    },
  })

  attack('leaves a process behind that has left its session and ignores signals', {
    inSandbox,
    attack: async () => {
      const { call } = makeWorld()
      const seconds = `29${process.pid}`
      await call('sh', {
        text: `for n in 1 2 3; do setsid sh -c "trap '' HUP TERM INT; (sleep ${seconds} &) ; sleep ${seconds}" > /dev/null 2>&1 & done; sleep 0.1`,
      })
      await vi.waitFor(() => expect(isRunning(`sleep ${seconds}`)).toBe(false), 60_000)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('setsid sh -c "sleep 0.1; echo late" & wait')).toBe('late\n')
    },
  })

  attack('starts processes until its time is over', {
    inSandbox,
    attack: async () => {
      const { call } = makeWorld((at) => ({ ...sandboxed(at), limits: { timeoutMs: 700 } }))
      const seconds = `28${process.pid}`
      const { status } = await call('sh', {
        text: `n=0; while [ $n -lt 150 ]; do sleep ${seconds} & n=$((n+1)); done; wait`,
      })
      expect(status).toBe('stopped')
      await vi.waitFor(() => expect(isRunning(`sleep ${seconds}`)).toBe(false), 60_000)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('for n in 1 2 3 4 5; do sleep 0.05 & done; wait; echo all')).toBe('all\n')
    },
  })

  attack('reads variables of the agent and of its own sandbox under /proc', {
    inSandbox,
    attack: async () => {
      process.env['ATTACK_API_KEY'] = `attack-${'k'.repeat(40)}`
      onTestFinished(() => void delete process.env['ATTACK_API_KEY'])
      const { sh } = makeWorld()
      const text = `cat /proc/*/environ /proc/${process.pid}/environ | tr '\\0' '\\n'; env; true`
      expect(await sh(text)).not.toContain('kkkkkk')
    },
    twin: async () => {
      process.env['ATTACK_MODE'] = 'plain'
      onTestFinished(() => void delete process.env['ATTACK_MODE'])
      const { sh } = makeWorld()
      expect(await sh('echo $ATTACK_MODE')).toBe('plain\n')
    },
  })

  attack('reads passwords in variables that have ordinary names', {
    inSandbox,
    attack: async () => {
      const word = `pw${'7'.repeat(3)}x${process.pid}`
      const variables = {
        DATABASE_URL: `postgres://app:${word}@db.example.com/app`,
        PGPASSWORD: word,
        SMTP_PASS: word,
        GITHUB_PAT: word,
        REDIS_URL: `redis://:${word}@cache.example.com:6379`,
        SESSION_SECRET: word,
      }
      Object.assign(process.env, variables)
      onTestFinished(() => {
        for (const name of Object.keys(variables)) delete process.env[name]
      })
      const { sh } = makeWorld()
      const shown = await sh('env')
      const seen = Object.keys(variables).filter((name) => shown.includes(`${name}=`))
      expect(seen).toEqual([])
    },
    twin: async () => {
      process.env['SERVICE_URL'] = 'https://api.example.com/v1'
      onTestFinished(() => void delete process.env['SERVICE_URL'])
      const { sh } = makeWorld()
      expect(await sh('echo $SERVICE_URL')).toBe('https://api.example.com/v1\n')
    },
  })

  attack('uses descriptors that the agent or its sandbox left open', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      const descriptor = fs.openSync(world.secret, 'r+')
      onTestFinished(() => fs.closeSync(descriptor))
      const listed = await world.sh(
        'ls -l /proc/self/fd /proc/1/fd | grep -- "->"; for n in 3 4 5 6 7 8 9; do cat <&$n; done; true',
      )
      expect(listed).not.toContain(SECRET)
      expect(listed).not.toMatch(/secret|tape|seccomp|retake/)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('exec 7< inside.txt; cat <&7')).toBe('inside')
    },
  })

  attack('opens pipes in files so that reads of the agent never end', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      const read = ({ path }: { path: string }): Promise<string> =>
        fs.promises.readFile(join(world.work, path), 'utf8')
      world.run.tool('read_briefly', read, { timeoutMs: 300 })
      world.run.tool('read_later', read)
      await world.sh('mkfifo pipe')
      const pipe = join(world.work, 'pipe')
      const reads = Array.from({ length: 8 }, () => world.call('read_briefly', { path: 'pipe' }))
      for (const each of await Promise.all(reads)) expectRefused(each)
      const next = await world.call('read_later', { path: 'inside.txt' })
      // Lets go of threads that wait for a writer.
      for (let n = 0; n < 3; n += 1) {
        const end = fs.openSync(pipe, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
        fs.closeSync(end)
        await new Promise((done) => setTimeout(done, 20))
      }
      expect(next).toMatchObject({ status: 'done', output: 'inside' })
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('mkfifo pipe; echo through > pipe & cat pipe')).toBe('through\n')
    },
  })
})

/** System calls by number; perl prints the error of each. */
const syscalls = (lines: string): string => `perl -e '${lines}' 2>&1`
const isX64 = process.arch === 'x64'

describe('the kernel', () => {
  const refusedCall = (name: string, number: string, twin: string, expected: string): void => {
    if (!isX64) return
    attack(name, {
      inSandbox,
      attack: async () => {
        const { sh } = makeWorld()
        expect(await sh(syscalls(`$r = syscall(${number}); print $r, " ", $!+0, "\\n"`))).toMatch(
          /^-1 (?:1|38)\n$/,
        )
      },
      twin: async () => {
        const { sh } = makeWorld()
        expect(await sh(twin)).toBe(expected)
      },
    })
  }
  refusedCall('traces another process', '101, 16, 1, 0, 0', 'perl -e "print kill(0, $$)"', '1')
  refusedCall('makes a namespace of its own', '272, 0x10000000', 'id -u', `${process.getuid?.()}\n`)
  refusedCall('reads keys of the session', '250, 0, -3, 1', 'echo 1', '1\n')
  refusedCall(
    'calls by the numbers of another ABI',
    '0x40000000 + 39',
    'perl -e "print getppid() > 0"',
    '1',
  )
  refusedCall('opens a file by its handle', '304, -100, 0, 0', 'cat inside.txt', 'inside')
  refusedCall(
    'reads the memory of another process',
    '310, 1, 0, 0, 0, 0, 0',
    'cat /proc/self/comm',
    'cat\n',
  )

  for (const [what, request] of [
    ['types into the terminal', '0x5412'],
    ['types into the terminal, with more bits than the kernel reads', '0x100005412'],
    ['pastes into the console', '0x541c'],
  ] as const)
    attack(what, {
      inSandbox,
      attack: async () => {
        const { sh } = makeWorld()
        const text = syscalls(`$x = "x"; $r = syscall(16, 0, ${request}, $x); print $r, " ", $!+0`)
        if (isX64) expect(await sh(text)).toBe('-1 1')
      },
      twin: async () => {
        const { sh } = makeWorld()
        expect(await sh('stty size < /dev/null; true')).toContain('nappropriate ioctl')
      },
    })

  attack('changes settings of the kernel as root', {
    inSandbox,
    attack: async () => {
      const { sh } = makeWorld()
      const { sh: open } = makeWorld(() => ({ policy: { name: 'net', network: { allow: [] } } }))
      // Opened for writing and nothing written: this must be harmless where it succeeds.
      const files = '/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger'
      for (const each of [sh, open])
        expect(
          await each(`for f in ${files}; do (: >> $f) && echo opened $f; done; true`),
        ).not.toContain('opened')
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('cat /proc/sys/kernel/ostype')).toBe('Linux\n')
    },
  })

  attack('writes into the system as root', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      const name = `retake-evil-${process.pid}`
      await world.sh(
        `for d in /usr/bin /etc /lib /opt /root /var/tmp /dev/shm /tmp /; do echo x > $d/${name}; done; true`,
      )
      const found = ['/usr/bin', '/etc', '/opt', '/root', '/var/tmp', '/dev/shm', '/tmp', '/']
      expect(found.filter((folder) => fs.existsSync(join(folder, name)))).toEqual([])
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('echo x > /tmp/mine; cat /tmp/mine')).toBe('x\n')
    },
  })

  attack('mounts over what is hidden, or takes it away', {
    inSandbox,
    attack: async () => {
      const world = makeWorld(({ work }) => ({
        dir: join(work, '.retake/runs'),
        policy: presets.sandbox({ root: work, programs: [['sh', '-c', '*']] }),
      }))
      await world.call('list', { path: '.' })
      const seen = await world.sh(
        'umount .ret*/runs; umount -l .ret*/runs; mount --bind . .ret*/runs; ls -A .ret*/runs; mount -o remount,rw /usr; touch /usr/evil; true',
      )
      expect(seen).not.toContain('.tape')
      expect(fs.existsSync('/usr/evil')).toBe(false)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('mkdir a; touch a/b; ls a')).toBe('b\n')
    },
  })

  attack('makes a device to read the disk with', {
    inSandbox,
    attack: async () => {
      const world = makeWorld()
      await world.sh('mknod disk b 254 0; mknod mem c 1 1; true')
      expect(fs.readdirSync(world.work)).toEqual(['inside.txt'])
      expect(await world.sh('ls /dev')).not.toMatch(/vda|sda|mem|kmsg/)
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh('mkfifo p; [ -p p ] && head -c 1 /dev/zero | wc -c')).toBe('1\n')
    },
  })

  attack('talks to the hypervisor by a socket that no network namespace separates', {
    inSandbox,
    attack: async () => {
      const { sh } = makeWorld()
      for (const family of [40, 38, 17, 31])
        expect(
          await sh(`perl -e 'socket(S, ${family}, 1, 0) and print "open ${family}"; print $!+0'`),
        ).not.toContain('open')
    },
    twin: async () => {
      const { sh } = makeWorld()
      expect(await sh(`perl -e 'print socket(S, 2, 1, 0)'`)).toBe('1')
    },
  })
})

describe('sockets of the machine', () => {
  const listen = async (at: string | { path: string }): Promise<ConnectionServer> => {
    const listening = createServer((socket) => socket.end(SECRET))
    listening.listen(at)
    onTestFinished(() => void listening.close())
    await new Promise((done) => listening.once('listening', done))
    return listening
  }
  const connect = (path: string): string =>
    `node -e 'require("net").connect("${path}").on("error", (e) => console.log(e.code)).on("data", (d) => console.log(String(d)))'`

  const moved = (name: string, prepare: (world: World) => Promise<string>): void =>
    attack(name, {
      inSandbox,
      attack: async () => {
        const world = makeWorld()
        const path = await prepare(world)
        expect(await world.sh(connect(path))).not.toContain(SECRET)
      },
      twin: async () => {
        const { sh } = makeWorld()
        const text = `node -e 'const n = require("net"); n.createServer((s) => s.end("own")).listen("own.sock", () => n.connect("own.sock").on("data", (d) => { console.log(String(d)); process.exit() }))'`
        expect(await sh(text)).toBe('own\n')
      },
    })
  moved('moves the folder of a socket, then connects to it', async ({ work, sh }) => {
    fs.mkdirSync(join(work, 'run'))
    await listen(join(work, 'run/db.sock'))
    await sh('mv run moved')
    return 'moved/db.sock'
  })
  moved('renames a socket with a tool, then connects to it', async ({ work, call }) => {
    await listen(join(work, 'db.sock'))
    await call('move', { path: 'db.sock', to: 'moved.sock' })
    return fs.existsSync(join(work, 'moved.sock')) ? 'moved.sock' : 'db.sock'
  })
  moved('gives a socket a second name, then connects to it', async ({ work, call }) => {
    await listen(join(work, 'db.sock'))
    await call('hard_link', { path: 'second.sock', to: 'db.sock' })
    return fs.existsSync(join(work, 'second.sock')) ? 'second.sock' : 'db.sock'
  })
  moved('connects to a socket that its server named by a link', async ({ folder, work }) => {
    fs.symlinkSync(work, join(folder, 'link'))
    await listen(join(folder, 'link/db.sock'))
    return 'db.sock'
  })
  moved('connects to a socket that its server named by a relative path', async ({ work }) => {
    const text = `process.chdir(${JSON.stringify(work)}); require("net").createServer((s) => s.end("${SECRET}")).listen("db.sock", () => console.log("on"))`
    const child = spawn(process.execPath, ['-e', text])
    onTestFinished(() => void child.kill('SIGKILL'))
    await new Promise((done) => child.stdout.once('data', done))
    return 'db.sock'
  })
  moved('connects to a socket without a path', async () => {
    const name = `\0retake-${process.pid}-${Date.now()}`
    await listen({ path: name })
    return name.replace('\0', '\\0')
  })

  attack('reaches a server of the agent over UDP, IPv6 and other names of the loopback', {
    inSandbox,
    attack: async () => {
      const heard: string[] = []
      const socket = dgram.createSocket('udp4')
      socket.on('message', (text) => heard.push(String(text)))
      await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done))
      onTestFinished(() => void socket.close())
      const before = server.hits.length
      const { sh } = makeWorld()
      const hosts = ['127.0.0.1', 'localhost', '127.1', '[::ffff:127.0.0.1]', '0']
      for (const host of hosts) await sh(`curl -s -m 1 http://${host}:${server.port}/; true`)
      await sh(
        `node -e 'require("dgram").createSocket("udp4").send("x", ${socket.address().port}, "127.0.0.1", () => process.exit())'; true`,
      )
      await new Promise((done) => setTimeout(done, 50))
      expect([heard, server.hits.length]).toEqual([[], before])
    },
    twin: async () => {
      const { sh } = makeWorld(({ work }) => ({
        policy: { name: 'files', files: { read: [work] }, shell: { allow: [['sh', '-c', '*']] } },
      }))
      expect(await sh(`curl -s -m 2 ${server.url}`)).toBe('hello')
    },
  })
})

describe('programs that the guard itself starts', () => {
  const script = (work: string, folder: string, body: string): string => `
    import { guard, presets } from '@retake/guard'
    import { execFileSync } from 'node:child_process'
    import fs from 'node:fs'
    const [work, folder] = ${JSON.stringify([work, folder])}
    ${body}
    run.end()`
  const runScript = (world: World, body: string, env: Record<string, string> = {}): string => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', script(world.work, world.folder, body)],
      { env: { ...process.env, ...env }, encoding: 'utf8' },
    )
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return stdout
  }
  const plant = (name: string): string => `
    const run = guard({ name: 'x', policy: presets.sandbox({ root: work, programs: [['${name}', '+%Y'], ['sh', '-c', '*']] }), dir: folder + '/tapes' })
    run.tool('write', ({ path, text }) => fs.writeFileSync(path, text, { mode: 0o755 }))
    run.tool('date', () => execFileSync('date', ['+%Y'], { encoding: 'utf8', cwd: work }))`
  const binOf = ({ work }: World): string => {
    const bin = join(work, 'node_modules/.bin')
    fs.mkdirSync(bin, { recursive: true })
    return bin
  }

  attack('writes a bwrap into the folder of programs that npm puts first', {
    attack: () => {
      const world = makeWorld()
      const bin = binOf(world)
      runScript(
        world,
        `${plant('date')}
        await run.call('write', { path: ${JSON.stringify(join(bin, 'bwrap'))}, text: '#!/bin/sh\\ntouch ' + folder + '/escaped\\n' })
        await run.call('date', {})`,
        { PATH: `${bin}:${process.env['PATH']}` },
      )
      expect(fs.existsSync(join(world.folder, 'escaped'))).toBe(false)
    },
    twin: () => {
      const world = makeWorld()
      const bin = binOf(world)
      const body = `${plant('date')}\nconsole.log((await run.call('date', {})).output.trim())`
      const year = String(new Date().getFullYear())
      expect(runScript(world, body, { PATH: `${bin}:${process.env['PATH']}` })).toBe(`${year}\n`)
    },
  })

  attack('writes a listed program into the folder that npm puts first, where no sandbox is', {
    attack: () => {
      const world = makeWorld()
      const bin = binOf(world)
      runScript(
        world,
        `${plant('date')}
        await run.call('write', { path: ${JSON.stringify(join(bin, 'date'))}, text: '#!/bin/sh\\ntouch ' + folder + '/escaped\\n' })
        await run.call('date', {})`,
        { PATH: `${bin}:${process.env['PATH']}`, RETAKE_SANDBOX: 'off' },
      )
      expect(fs.existsSync(join(world.folder, 'escaped'))).toBe(false)
    },
    twin: () => {
      const world = makeWorld()
      const bin = binOf(world)
      const body = `${plant('date')}\nconsole.log((await run.call('date', {})).output.trim())`
      const year = String(new Date().getFullYear())
      const env = { PATH: `${bin}:${process.env['PATH']}`, RETAKE_SANDBOX: 'off' }
      expect(runScript(world, body, env)).toBe(`${year}\n`)
    },
  })
})
