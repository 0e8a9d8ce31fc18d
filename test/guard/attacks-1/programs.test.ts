import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { presets } from '@retake/guard'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../../support/has-sandbox.js'
import {
  expectRefused,
  expectUntouched,
  makeWorld,
  SECRET,
  shareServer,
  type World,
} from '../attacks-2/world.js'

/**
 * The first round of attacks by name: programs and files. In the sandbox, hostile settings may run
 * code; it sees nothing but the scope. `wants`: text in the output of the benign twin.
 */
interface ProgramCase {
  readonly name: string
  readonly vector: readonly string[]
  readonly words: (world: World) => readonly string[]
  /** Content of files that a tool may write. */
  readonly plant?: (world: World) => void
  readonly twin: readonly string[]
  readonly wants: string
}

/** A command that writes beside the scope and prints the secret. */
const evil = ({ folder, secret }: World): string =>
  `sh -c 'cat ${secret}; echo x > ${folder}/pwned'`
const write = ({ work }: World, name: string, text: string): void => {
  fs.mkdirSync(join(work, name, '..'), { recursive: true })
  fs.writeFileSync(join(work, name), text, { mode: 0o755 })
}
const repository = (world: World): void => {
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: world.work })
  git('init', '-q')
  git('config', 'user.email', 'a@example.com')
  git('config', 'user.name', 'a')
}
const configure = (world: World, key: string, value: string): void => {
  execFileSync('git', ['config', key, value], { cwd: world.work })
}

const CASES: readonly ProgramCase[] = [
  {
    name: "the example of presets.sandbox, ['git','status']: core.fsmonitor in .git/config",
    vector: ['git', 'status'],
    plant: (world) => {
      repository(world)
      write(world, 'evil.sh', `#!/bin/sh\n${evil(world)}\n`)
      configure(world, 'core.fsmonitor', './evil.sh')
    },
    words: () => ['git', 'status'],
    twin: ['git', 'status'],
    wants: 'inside.txt',
  },
  {
    name: "['git','diff']: an external diff in .git/config",
    vector: ['git', 'diff'],
    plant: (world) => {
      repository(world)
      execFileSync('git', ['add', 'inside.txt'], { cwd: world.work })
      write(world, 'inside.txt', 'other')
      configure(world, 'diff.external', evil(world))
    },
    words: () => ['git', 'diff'],
    twin: ['git', 'diff'],
    wants: '',
  },
  {
    name: "['git','commit','-m','*']: a hook that a tool has overwritten",
    vector: ['git', 'commit', '-m', '*', '--allow-empty'],
    plant: (world) => {
      repository(world)
      write(world, '.git/hooks/pre-commit', `#!/bin/sh\n${evil(world)}\n`)
    },
    words: () => ['git', 'commit', '-m', 'x', '--allow-empty'],
    twin: ['git', 'commit', '-m', 'x', '--allow-empty'],
    wants: 'x',
  },
  {
    name: "['git','add','**']: a clean filter in .git/config",
    vector: ['git', 'add', '**'],
    plant: (world) => {
      repository(world)
      write(world, '.gitattributes', '* filter=evil\n')
      configure(world, 'filter.evil.clean', evil(world))
    },
    words: () => ['git', 'add', 'inside.txt'],
    twin: ['git', 'add', 'inside.txt'],
    wants: '',
  },
  {
    name: "['make','test'] with a Makefile that a tool may write",
    vector: ['make', 'test'],
    plant: (world) => write(world, 'Makefile', `test:\n\techo made\n\t-${evil(world)}\n`),
    words: () => ['make', 'test'],
    twin: ['make', 'test'],
    wants: 'made',
  },
  {
    name: "['tar','**']: options of the old kind have no dash",
    vector: ['tar', '**'],
    words: ({ folder }) => ['tar', 'cfI', 'x.tar', `sh -c "touch ${folder}/pwned"`, 'inside.txt'],
    twin: ['tar', 'cf', 'x.tar', 'inside.txt'],
    wants: '',
  },
  {
    name: "['cat','*']: a folder whose name holds a quote, then ..",
    vector: ['cat', '*'],
    plant: ({ work }) => fs.mkdirSync(join(work, 'a"')),
    words: () => ['cat', 'a"/../../secret.txt'],
    twin: ['cat', 'a"/../inside.txt'],
    wants: 'inside',
  },
  {
    name: "['cat','*']: a folder whose name holds a star, then ..",
    vector: ['cat', '*'],
    plant: ({ work }) => fs.mkdirSync(join(work, 'a*')),
    words: () => ['cat', 'a*/../../secret.txt'],
    twin: ['cat', 'a*/../inside.txt'],
    wants: 'inside',
  },
  {
    name: "the scopes of docs/guard.md and ['cat','*']: one .. is judged from ./data/out",
    vector: ['cat', '*'],
    words: () => ['cat', '../secret.txt'],
    twin: ['cat', 'inside.txt'],
    wants: 'inside',
  },
  {
    name: "the same with rm: ['rm','-rf','*']",
    vector: ['rm', '-rf', '*'],
    words: () => ['rm', '-rf', '../secret.txt'],
    twin: ['rm', '-rf', 'inside.txt'],
    wants: '',
  },
  {
    name: 'rm -rf with .. of a folder with a quote',
    vector: ['rm', '-rf', '*'],
    plant: ({ work }) => fs.mkdirSync(join(work, 'a"')),
    words: () => ['rm', '-rf', 'a"/../../secret.txt'],
    twin: ['rm', '-rf', 'a"'],
    wants: '',
  },
  {
    name: "['grep','-r','*','*']: search outside",
    vector: ['grep', '-r', '*', '*'],
    words: () => ['grep', '-r', 'SECRET', '..'],
    twin: ['grep', '-r', 'inside', '.'],
    wants: 'inside.txt',
  },
  {
    name: "['dd','*','*']: if=…",
    vector: ['dd', '*', '*'],
    words: ({ secret }) => ['dd', `if=${secret}`, 'status=none'],
    twin: ['dd', 'if=inside.txt', 'status=none'],
    wants: 'inside',
  },
  {
    name: "['sed','*','*']: the e command",
    vector: ['sed', '*', '*'],
    words: ({ secret }) => ['sed', `1e cat ${secret}`, 'inside.txt'],
    twin: ['sed', 's/side/to/', 'inside.txt'],
    wants: 'into',
  },
  {
    name: "['sed','*','*']: the w command",
    vector: ['sed', '*', '*'],
    words: ({ folder }) => ['sed', `w ${folder}/pwned`, 'inside.txt'],
    twin: ['sed', 'w out.txt', 'inside.txt'],
    wants: 'inside',
  },
  {
    name: "['awk','*','*']: system()",
    vector: ['awk', '*', '*'],
    words: ({ secret }) => ['awk', `BEGIN { system("cat ${secret}") }`, 'inside.txt'],
    twin: ['awk', '{ print "got", $1 }', 'inside.txt'],
    wants: 'got inside',
  },
  {
    name: "['find','**']: without options it lists outside",
    vector: ['find', '**'],
    words: ({ folder }) => ['find', folder],
    twin: ['find', '.'],
    wants: 'inside.txt',
  },
  {
    name: "['curl','-s','*']: file: behind a brace",
    vector: ['curl', '-s', '*'],
    words: ({ secret }) => ['curl', '-s', `{file}://${secret}`],
    twin: ['curl', '-s', '{file}:///etc/hosts'],
    wants: 'localhost',
  },
  {
    name: 'a word that one vector lists is not looked at for another',
    vector: ['cat', '*'],
    words: ({ secret }) => ['cat', secret],
    twin: ['cat', 'inside.txt'],
    wants: 'inside',
  },
  {
    name: 'node with a script that tools may write',
    vector: ['node', 'build.js'],
    plant: (world) =>
      write(
        world,
        'build.js',
        `console.log('built'); console.log(require('fs').readFileSync('${world.secret}', 'utf8'))`,
      ),
    words: () => ['node', 'build.js'],
    twin: ['node', 'build.js'],
    wants: 'built',
  },
  {
    name: 'an allowed program that lies in the folder tools may write',
    vector: ['$WORK/tool.sh'],
    plant: (world) => write(world, 'tool.sh', `#!/bin/sh\necho ran\n${evil(world)}\n`),
    words: ({ work }) => [join(work, 'tool.sh')],
    twin: ['$WORK/tool.sh'],
    wants: 'ran',
  },
  {
    name: "['npm','test'] with a package.json that a tool may write",
    vector: ['npm', 'test'],
    plant: (world) =>
      write(
        world,
        'package.json',
        JSON.stringify({ scripts: { test: `echo tested; ${evil(world)}` } }),
      ),
    words: () => ['npm', 'test'],
    twin: ['npm', 'test'],
    wants: 'tested',
  },
]

const inWork = (words: readonly string[], work: string): string[] =>
  words.map((each) => each.replace('$WORK', work))

const worldOf = ({ vector, plant }: ProgramCase): World => {
  const world = makeWorld(({ work }) => ({
    policy: presets.sandbox({ root: work, programs: [inWork(vector, work)] }),
  }))
  plant?.(world)
  return world
}

describe.skipIf(!hasSandbox)('programs', () => {
  test.each(CASES)('$name', async (each) => {
    const world = worldOf(each)
    const { output, error } = await world.call('program', { words: each.words(world) })
    expect(
      `${String(output)} ${String(error)} ${(error as { stdout?: string })?.stdout}`,
    ).not.toContain(SECRET)
    expectUntouched(world)
  })
  test.each(CASES)('$name, a benign twin', async (each) => {
    const world = worldOf(each)
    const { output, error } = await world.call('program', { words: inWork(each.twin, world.work) })
    const { stdout = '', stderr = '' } = (error ?? {}) as { stdout?: string; stderr?: string }
    expect([String(output), stdout, stderr].join(' ')).toContain(each.wants)
    expectUntouched(world)
  })
})

describe('files', () => {
  test('rename out of a write-only folder into a readable one', async () => {
    const world = makeWorld(({ work, folder }) => {
      fs.mkdirSync(join(folder, 'drop'))
      return { policy: { name: 'p', files: { read: [work], write: [work, join(folder, 'drop')] } } }
    })
    fs.writeFileSync(join(world.folder, 'drop/letter.txt'), SECRET)
    await world.call('move', { path: '../drop/letter.txt', to: 'letter.txt' })
    expectRefused(await world.call('read', { path: 'letter.txt' }))
    expect(await world.call('move', { path: 'inside.txt', to: 'moved.txt' })).toMatchObject({
      status: 'done',
    })
    expect((await world.call('read', { path: 'moved.txt' })).output).toBe('inside')
  })

  test('a link that leads out once its folder is moved', async () => {
    const world = makeWorld()
    await world.call('folder', { path: 'a/b/c' })
    await world.call('link', { path: 'a/b/c/link', to: '../../../secret.txt' })
    await world.call('move', { path: 'a/b/c', to: 'c' })
    expectRefused(await world.call('read', { path: 'c/link' }))
    expect((await world.call('read', { path: 'inside.txt' })).output).toBe('inside')
  })

  const withSockets = (): World => {
    const world = makeWorld(({ work }) => ({
      policy: { name: 'p', files: { read: [work], write: [work] } },
    }))
    world.run.tool(
      'listen',
      ({ path }: { path: string }) =>
        new Promise((resolve, reject) => {
          const server = net.createServer().on('error', reject)
          server.listen(join(world.work, path), () => server.close(() => resolve('listened')))
        }),
    )
    world.run.tool(
      'connect',
      ({ path }: { path: string }) =>
        new Promise((resolve, reject) => {
          const socket = net.connect(join(world.work, path), () => {
            socket.end()
            resolve('connected')
          })
          socket.on('error', reject)
        }),
    )
    return world
  }

  test('a local server makes a file outside (no network scope)', async () => {
    const world = withSockets()
    expectRefused(await world.call('listen', { path: '../out.sock' }))
    expectUntouched(world)
    expect((await world.call('listen', { path: 'in.sock' })).output).toBe('listened')
  })

  test('a local socket outside is connected to (files scope, no network scope)', async () => {
    const world = withSockets()
    let connections = 0
    for (const path of ['out.sock', 'work/in.sock'])
      await new Promise<void>((resolve) => {
        const each = net.createServer((socket) => {
          connections += 1
          socket.end()
        })
        onTestFinished(() => void each.close())
        each.listen(join(world.folder, path), resolve)
      })
    expectRefused(await world.call('connect', { path: '../out.sock' }))
    expect(connections).toBe(0)
    expect((await world.call('connect', { path: 'in.sock' })).output).toBe('connected')
  })
})

describe('network', () => {
  const server = shareServer()
  test('two Host headers', async () => {
    const world = makeWorld(() => ({
      policy: presets.network({
        allow: ['api.example.com', '127.0.0.1'],
        addresses: [server.endpoint],
      }),
    }))
    world.run.tool(
      'get',
      ({ hosts }: { hosts: string[] }) =>
        new Promise((resolve, reject) => {
          const options = {
            host: '127.0.0.1',
            port: server.port,
            headers: hosts.flatMap((each) => ['host', each]),
          }
          http
            .get(options as object, (response) => resolve(response.statusCode))
            .on('error', reject)
        }),
    )
    expectRefused(await world.call('get', { hosts: ['api.example.com', 'evil.com'] }))
    expect(server.hits).toEqual([])
    expect(await world.call('get', { hosts: ['api.example.com'] })).toMatchObject({ output: 200 })
  })
})
