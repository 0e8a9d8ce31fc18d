// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type GuardOptions, presets } from '@retake/guard'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { agentPath } from '../../support/run-retake.mjs'
import { attack, isRunning, makeWorld, SECRET, shareServer, type World } from './world.js'

// Flags of the test runner name files that no sandbox shows.
process.execArgv = []

const inSandbox = true
const files = ['attacked-tool.mjs', 'attacked-version.mjs']

const allowed = shareServer(({ url = '' }) =>
  url.startsWith('/to?') ? new URL(decodeURIComponent(url.slice(4))) : 'hello',
)
const inner = shareServer(() => 'inner')

interface ModuleWorld extends World {
  readonly tool: (args: object) => Promise<unknown>
}

interface ModuleSetup {
  /** The module is in the folder that the model may write. */
  readonly inWork?: boolean
  readonly sandbox?: (at: { folder: string }) => object
  readonly options?: (at: { folder: string; work: string }) => Partial<GuardOptions>
}

/** A world with a sandboxed tool whose code is beside the work folder, or in it. */
function makeModule({ inWork, sandbox, options }: ModuleSetup = {}): ModuleWorld {
  const world = makeWorld(({ folder, work }) => ({
    policy: presets.sandbox({
      root: work,
      addresses: [allowed.endpoint],
      programs: [['sh', '-c', '*']],
    }),
    ...options?.({ folder, work }),
  }))
  const tools = join(inWork === true ? world.work : world.folder, 'tools')
  fs.mkdirSync(tools)
  for (const file of files) fs.copyFileSync(agentPath(`guard/${file}`), join(tools, file))
  world.run.tool('module', {
    module: join(tools, 'attacked-tool.mjs'),
    sandbox: sandbox?.(world) ?? true,
  })
  const tool = async (args: object): Promise<unknown> => {
    const { output, error } = await world.call('module', args)
    expect(String(error)).not.toContain('The process of the tool ended')
    return output
  }
  return { ...world, tool }
}

/** Processes of sandboxed tools that this process has started. */
const waitingProcesses = (): number =>
  fs
    .readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => {
      const file = `/proc/${pid}/cmdline`
      return (
        pid !== '' && fs.existsSync(file) && fs.readFileSync(file, 'utf8').includes('tool-child')
      )
    }).length

const readsSecret = (world: ModuleWorld): Promise<unknown> =>
  world.tool({
    does: 'sh',
    text: `cat ${world.folder}/sec*; cat ${world.folder}/*/sec*; ls -R ${world.folder}`,
  })

describe('code of a sandboxed tool', () => {
  const plants = (
    name: string,
    plant: (world: ModuleWorld) => Promise<unknown>,
    twin?: () => Promise<void>,
  ): void =>
    attack(name, {
      inSandbox,
      attack: async () => {
        const world = makeModule({ inWork: true })
        fs.mkdirSync(join(world.folder, 'keys'))
        fs.writeFileSync(join(world.folder, 'keys/secret.pem'), SECRET)
        await plant(world)
        expect(String(await readsSecret(world))).not.toContain(SECRET)
      },
      twin,
    })
  plants(
    'plants a node_modules that leads to a folder of keys',
    ({ sh, folder }) => sh(`ln -s ${folder}/keys node_modules`),
    async () => {
      const world = makeModule({ inWork: true })
      expect(await world.tool({ does: 'version' })).toBe('first')
      expect(await world.tool({ does: 'sh', text: `cat ${world.work}/inside.txt` })).toBe('inside')
    },
  )
  plants('plants a package.json that leads to a secret', ({ sh, folder }) =>
    sh(`ln -s ${folder}/secret.txt tools/package.json`),
  )
  plants('writes an import of a secret into a file that the tool loads', ({ call }) =>
    call('write', {
      path: 'tools/attacked-version.mjs',
      text: "export const version = 'x' // from '../../secret.txt'",
    }),
  )
  plants('puts a link to a secret where a file of the tool was', async ({ call, sh, folder }) => {
    await call('move', { path: 'tools/attacked-version.mjs', to: 'tools/old.mjs' })
    await sh(
      `echo "export const version = 1; /* from '../more.json' */" > tools/attacked-version.mjs; ln -s ${folder}/secret.txt more.json`,
    )
  })

  attack('plants a node_modules that leads to the key of approvals', {
    inSandbox,
    attack: async () => {
      const state = join(process.env['XDG_STATE_HOME'] ?? '', 'retake')
      fs.mkdirSync(state, { recursive: true })
      fs.writeFileSync(join(state, 'probe.pem'), SECRET)
      onTestFinished(() => fs.rmSync(join(state, 'probe.pem'), { force: true }))
      const world = makeModule({ inWork: true })
      await world.sh(`ln -s ${state.replace(/retake$/, '')} node_modules`)
      const text = `cat ${state.replace('retake', '*')}/* ${state.slice(0, -2)}*/*`
      expect(String(await world.tool({ does: 'sh', text }))).not.toContain(SECRET)
    },
    twin: async () => {
      const world = makeModule()
      fs.mkdirSync(join(world.folder, 'node_modules'))
      fs.writeFileSync(join(world.folder, 'node_modules/x'), 'a package')
      expect(await world.tool({ does: 'sh', text: `cat ${world.folder}/node_modules/x` })).toBe(
        'a package',
      )
    },
  })

  attack('reads tapes in a folder that the tool lists as code', {
    inSandbox,
    attack: async () => {
      const options = ({ folder }: { folder: string }) => ({ dir: join(folder, '.retake/runs') })
      const world = makeModule({ options, sandbox: ({ folder }) => ({ code: [folder] }) })
      await world.call('list', { path: '.' })
      const text = `ls -A ${world.folder}/.ret*/runs`
      expect(String(await world.tool({ does: 'sh', text }))).not.toContain('.tape')
    },
  })

  attack('changes the code of its own tool', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      await world.tool({
        does: 'sh',
        text: `cd ${world.folder}/tools; echo evil > attacked-version.mjs; rm -f *; mv attacked-tool.mjs x`,
      })
      expect(fs.readFileSync(join(world.folder, 'tools/attacked-version.mjs'), 'utf8')).toContain(
        'first',
      )
      expect(fs.readdirSync(join(world.folder, 'tools')).toSorted()).toEqual(files)
    },
    twin: async () => {
      const world = makeModule()
      await world.tool({ does: 'sh', text: `echo new > ${world.work}/made` })
      expect(fs.readFileSync(join(world.work, 'made'), 'utf8')).toBe('new\n')
    },
  })

  attack('reads files beside the module that it does not import', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      fs.writeFileSync(join(world.folder, 'tools/.env'), SECRET)
      expect(
        String(
          await world.tool({
            does: 'sh',
            text: `cat ${world.folder}/tools/.e*; ls -A ${world.folder}/tools`,
          }),
        ),
      ).not.toMatch(/SECRET|\.env/)
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'sh', text: `ls ${world.folder}/tools` })).toBe(
        `${files.join('\n')}\n`,
      )
    },
  })
})

describe('the way out of a sandboxed tool', () => {
  const unreached = async (work: () => Promise<unknown>): Promise<void> => {
    const before = inner.hits.length
    await work()
    expect(inner.hits.slice(before)).toEqual([])
  }

  attack('sends POST where only GET is allowed', {
    inSandbox,
    // Several times: a tool once waited for some refused connections until its time was over.
    attack: async () => {
      for (let time = 0; time < 8; time += 1) {
        const world = makeModule({
          options: ({ work }) => ({
            limits: { timeoutMs: 20_000 },
            policy: [
              { name: 'files', files: { read: [work], write: [work] } },
              presets.network({
                allow: [],
                addresses: [allowed.endpoint],
                methods: ['GET', 'HEAD'],
              }),
            ],
          }),
        })
        const before = allowed.hits.length
        const args = { does: 'fetch', url: allowed.url, method: 'POST', body: 'x' }
        expect(await world.call('module', args)).toMatchObject({ status: 'denied' })
        expect(allowed.hits.slice(before).filter((hit) => !hit.startsWith('GET'))).toEqual([])
      }
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'fetch', url: allowed.url, method: 'POST', body: 'x' })).toBe(
        'hello',
      )
    },
  })

  attack('connects to other ports, names and spellings', {
    inSandbox,
    attack: () =>
      unreached(async () => {
        const world = makeModule()
        for (const host of [
          '127.0.0.1',
          'localhost',
          '127.1',
          '0x7f000001',
          '::ffff:127.0.0.1',
          '2130706433',
          '0',
          '',
        ])
          await world.tool({ does: 'connect', host, port: inner.port })
        await world.tool({ does: 'fetch', url: inner.url })
      }),
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'connect', host: '127.0.0.1', port: allowed.port })).toBe(
        'connected',
      )
    },
  })

  attack('follows a redirect to another server', {
    inSandbox,
    attack: () =>
      unreached(async () => {
        const world = makeModule()
        await world.tool({
          does: 'fetch',
          url: `${allowed.url}to?${encodeURIComponent(inner.url)}`,
        })
      }),
    twin: async () => {
      const world = makeModule()
      expect(
        await world.tool({
          does: 'fetch',
          url: `${allowed.url}to?${encodeURIComponent(allowed.url)}`,
        }),
      ).toBe('hello')
    },
  })

  attack('sends after its call is over', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      await world.tool({ does: 'version' })
      const before = allowed.hits.length
      await world.tool({ does: 'later', url: allowed.url })
      await new Promise((done) => setTimeout(done, 250))
      expect(allowed.hits.length).toBe(before)
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'fetch', url: allowed.url })).toBe('hello')
    },
  })

  attack('reaches the network from a program that it starts', {
    inSandbox,
    attack: () =>
      unreached(async () => {
        const world = makeModule()
        await world.tool({
          does: 'sh',
          text: `curl -s -m 1 ${inner.url}; curl -s -m 1 -x 127.0.0.1:${allowed.port} ${inner.url}; (echo 'GET / HTTP/1.0'; echo) >&4`,
        })
      }),
    twin: async () => {
      const world = makeModule()
      expect(
        await world.tool({
          does: 'sh',
          text: `node -e 'const s = require("http").createServer((_, r) => r.end("own")).listen(0, async () => { console.log(await (await fetch("http://127.0.0.1:" + s.address().port)).text()); process.exit() })'`,
        }),
      ).toBe('own\n')
    },
  })

  attack('connects to a socket in its folder', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      const listening = createServer((socket) => socket.end(SECRET))
      listening.listen(join(world.work, 'db.sock'))
      onTestFinished(() => void listening.close())
      await new Promise((done) => listening.once('listening', done))
      const text = `node -e 'require("net").connect("${world.work}/db.sock").on("error", (e) => console.log(e.code)).on("data", (d) => console.log(String(d)))'`
      expect(String(await world.tool({ does: 'sh', text }))).not.toContain(SECRET)
    },
  })

  attack('connects to a socket that appeared while its process was waiting', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      await world.tool({ does: 'version' })
      const listening = createServer((socket) => socket.end(SECRET))
      // Processes that wait look at the sockets twice a second.
      await new Promise((done) => setTimeout(done, 550))
      listening.listen(join(world.work, 'db.sock'))
      onTestFinished(() => void listening.close())
      await new Promise((done) => listening.once('listening', done))
      const text = `node -e 'require("net").connect("${world.work}/db.sock").on("error", (e) => console.log(e.code)).on("data", (d) => console.log(String(d)))'`
      expect(String(await world.tool({ does: 'sh', text }))).not.toContain(SECRET)
    },
    twin: async () => {
      const world = makeModule()
      await world.tool({ does: 'version' })
      fs.writeFileSync(join(world.work, 'new.txt'), 'new')
      expect(await world.tool({ does: 'read', path: join(world.work, 'new.txt') })).toBe('new')
    },
  })
})

describe('the process of a sandboxed tool', () => {
  attack('prints what looks like an answer to the guard', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      const forged = JSON.stringify({ id: 1, output: 'forged' })
      const text = `for n in 3 4 5; do printf '%s\\n' '${forged}' >&$n; printf '%s\\n' '${forged}' > /proc/$PPID/fd/$n; done; echo real`
      expect(String(await world.tool({ does: 'sh', text }))).toMatch(/^real\n/)
      expect(await world.tool({ does: 'print', text: '' })).toBe('printed')
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'sh', text: 'echo real' })).toBe('real\n')
    },
  })

  attack('opens a debugger in the tool with a signal and answers in its name', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      const text = 'kill -USR1 $PPID; sleep 0.4; curl -s -m 1 http://127.0.0.1:9229/json/list; true'
      expect(String(await world.tool({ does: 'sh', text }))).not.toContain('webSocketDebuggerUrl')
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'sh', text: 'kill -0 $PPID && echo alive' })).toBe('alive\n')
    },
  })

  attack('reads variables of the agent', {
    inSandbox,
    attack: async () => {
      process.env['ATTACK_API_KEY'] = `attack-${'k'.repeat(40)}`
      onTestFinished(() => void delete process.env['ATTACK_API_KEY'])
      const world = makeModule()
      expect(
        String(
          await world.tool({
            does: 'sh',
            text: `cat /proc/*/environ /proc/${process.pid}/environ; env`,
          }),
        ),
      ).not.toContain('kkkkkk')
    },
    twin: async () => {
      process.env['ATTACK_MODE'] = 'plain'
      onTestFinished(() => void delete process.env['ATTACK_MODE'])
      const world = makeModule({ sandbox: () => ({ env: ['ATTACK_MODE'] }) })
      expect(await world.tool({ does: 'sh', text: 'echo $ATTACK_MODE' })).toBe('plain\n')
    },
  })

  attack('takes more time than it has, with processes in the background', {
    inSandbox,
    attack: async () => {
      const seconds = `27${process.pid}`
      const world = makeModule({ options: () => ({ limits: { timeoutMs: 1500 } }) })
      const { status } = await world.call('module', {
        does: 'spin',
        text: `setsid sleep ${seconds} & setsid nohup sleep ${seconds} &`,
      })
      expect(status).toBe('stopped')
      await vi.waitFor(() => expect(isRunning(`sleep ${seconds}`)).toBe(false), 60_000)
    },
    twin: async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'sh', text: 'sleep 0.1 & wait; echo done' })).toBe('done\n')
    },
  })

  attack('leaves processes behind that outlive its call', {
    inSandbox,
    attack: async () => {
      const world = makeModule()
      const made = `${world.work}/late.txt`
      const later = `sleep 0.3; echo x > ${made}`
      await world.tool({ does: 'sh', text: `setsid nohup sh -c '${later}' > /dev/null 2>&1 &` })
      expect(await world.tool({ does: 'sh', text: 'sleep 0.6; ls -d /proc/[0-9]* | wc -l' })).toBe(
        // bubblewrap, Node, the shell, `ls` and `wc`
        '5\n',
      )
      expect(fs.existsSync(made)).toBe(false)
    },
    twin: async () => {
      const world = makeModule()
      /** Identifies the process of the tool by the time of its start. */
      const started = (text: string) =>
        world.tool({ does: 'sh', text: `${text}; cut -d ' ' -f 22 /proc/2/stat` })
      expect(await started('sleep 0.1 & wait')).toBe(await started('true'))
    },
  })

  attack('starts more processes than it may have', {
    inSandbox,
    ...(process.getuid?.() === 0 && {
      notPromised: 'the system does not count processes of root',
    }),
    attack: async () => {
      const world = makeModule({ sandbox: () => ({ processes: 10 }) })
      // None of them may end before they are counted, on a busy machine either.
      const text =
        'n=0; while [ $n -lt 80 ]; do sleep 600 > /dev/null 2>&1 & n=$((n+1)); done 2> /dev/null; ls -d /proc/[0-9]* | wc -l'
      expect(Number.parseInt(String(await world.tool({ does: 'sh', text })), 10) || 0).toBeLessThan(
        40,
      )
    },
    twin: async () => {
      const world = makeModule({ sandbox: () => ({ processes: 10 }) })
      expect(
        await world.tool({ does: 'sh', text: 'sleep 0.1 & sleep 0.1 & wait; echo done' }),
      ).toBe('done\n')
    },
  })

  /** Code that the tool runs for the model; the agent must survive whatever it sends. */
  const sends = (name: string, code: string, twin?: () => Promise<void>): void =>
    attack(name, {
      inSandbox,
      attack: async () => {
        const world = makeModule({ options: () => ({ limits: { timeoutMs: 2000 } }) })
        const frame = `const send = (value) => {
          const body = v8.serialize(value)
          const head = Buffer.alloc(4)
          head.writeUInt32BE(body.length)
          fs.writeSync(3, Buffer.concat([head, body]))
        };`
        const text = `${frame} ${code}; await new Promise((done) => setTimeout(done, 100)); return 'survived'`
        await world.call('module', { does: 'code', text })
        expect(await world.tool({ does: 'version' })).toBe('first')
      },
      twin,
    })
  sends(
    'sends the guard values that are not messages',
    `send(null); send('x'); send([]); process.send?.({ cmd: 'NODE_HANDLE', type: 'x' })`,
    async () => {
      const world = makeModule()
      expect(await world.tool({ does: 'code', text: 'return 6 * 7' })).toBe(42)
    },
  )
  sends(
    'sends the guard bytes that are not values',
    'fs.writeSync(3, Buffer.from([0, 0, 0, 5, 1, 2, 3, 4, 5]))',
  )
  sends('announces more bytes than fit into memory', 'fs.writeSync(3, Buffer.alloc(64, 255))')
  sends('sends the guard an error without any fields', 'send({ id: 1, error: null })')
  sends(
    'sends the guard an error whose causes go in a circle',
    `const error = { name: 'E', message: 'm', fields: {} }; error.cause = error; send({ id: 1, error })`,
  )
  sends('closes its channel to the guard', 'fs.closeSync(3)')

  attack('leaves a waiting process behind with each run', {
    inSandbox,
    attack: async () => {
      const first = makeModule()
      for (let n = 0; n < 20; n += 1) {
        const world = makeModule()
        await world.tool({ does: 'version' })
        world.run.end()
      }
      await vi.waitFor(() => expect(waitingProcesses()).toBeLessThanOrEqual(16), 60_000)
      expect(await first.tool({ does: 'version' })).toBe('first')
    },
    twin: async () => {
      const world = makeModule()
      const pids = [0, 1].map(() => world.tool({ does: 'sh', text: 'echo $PPID' }))
      expect(await Promise.all(pids)).toEqual([
        expect.stringMatching(/\d/),
        expect.stringMatching(/\d/),
      ])
    },
  })

  attack('reports usage below zero', {
    inSandbox,
    attack: async () => {
      const world = makeModule({ options: () => ({ limits: { costUsd: 1 } }) })
      world.run.tool('paid', {
        module: join(world.folder, 'tools/attacked-tool.mjs'),
        reserve: { costUsd: 0.4 },
        effects: ['spend'],
      })
      const statuses = []
      for (let n = 0; n < 4; n += 1)
        statuses.push((await world.call('paid', { does: 'use', body: -5, n })).status)
      expect(statuses.slice(2)).toEqual(['stopped', 'stopped'])
    },
    twin: async () => {
      const world = makeModule({ options: () => ({ limits: { costUsd: 1 } }) })
      world.run.tool('paid', {
        module: join(world.folder, 'tools/attacked-tool.mjs'),
        reserve: { costUsd: 0.4 },
        effects: ['spend'],
      })
      for (let n = 0; n < 4; n += 1)
        expect((await world.call('paid', { does: 'use', body: 0.1, n })).status).toBe('done')
    },
  })
})
