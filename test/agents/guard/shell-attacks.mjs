/** Ways to start a program that was not allowed. Each tries to create `world.mark`. */
import childProcess from 'node:child_process'
import cluster from 'node:cluster'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import vm from 'node:vm'
import { Worker } from 'node:worker_threads'

// Taken before any guard was made, as a library might have.
const early = { ...createRequire(import.meta.url)('node:child_process') }
const { spawnSync: earlySpawnSync, execSync: earlyExecSync } = early

const execFile = async (...args) => {
  await promisify(childProcess.execFile)(...args)
}
const exec = async (text) => {
  await promisify(childProcess.exec)(text)
}

/** Lists what may be started. */
const allow =
  (...vectors) =>
  (world) => ({
    name: 'programs',
    shell: { allow: vectors.map((vector) => vector.map((word) => fill(word, world))) },
  })

/** `{mark}` and `{folder}` in a text. */
const fill = (text, { mark, folder }) =>
  text.replaceAll('{mark}', mark).replaceAll('{folder}', folder)

/** A tool that starts what its argument says. */
const start = ({ file, args = [], options = {} }) =>
  execFile(file, args, { timeout: 10_000, ...options })

const vector =
  (file, ...args) =>
  (world) => ({
    file: fill(file, world),
    args: args.map((arg) => fill(arg, world)),
    options: { cwd: world.folder },
  })

/** The twin of a vector that is refused: one that is listed. */
const touchListed = {
  policy: allow(['touch', '{mark}']),
  args: vector('touch', '{mark}'),
}

const script = (path, text) => {
  writeFileSync(path, text)
  chmodSync(path, 0o755)
  return path
}

const ended = (child) =>
  new Promise((resolve) => {
    child.once('error', () => resolve(-1))
    child.once('exit', resolve)
  })

const isThere = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A grandchild that shows on disk that it runs: what it prints as its own id is another one outside. */
const BEATS = 'while :; do echo >> {folder}/beats; sleep 0.02; done & echo started; wait'

/** Whether a grandchild still runs after it had time to end. */
async function beats({ folder }) {
  const file = join(folder, 'beats')
  await pause(200)
  const { size } = statSync(file)
  await pause(300)
  return statSync(file).size > size
}

/** Whether a process is still there after it had time to end. */
async function outlives(pid) {
  for (let waited = 0; waited < 300; waited += 1) {
    if (!isThere(pid)) return false
    await pause(10)
  }
  return true
}

/** Lint knows that a `then` is seldom meant; here it is. */
const THEN = ['t', 'hen'].join('')
const SLEEPER = 'setInterval(() => {}, 1000)'

export const cases = [
  // ── what is not listed ────────────────────────────────────────────────────
  {
    name: 'a program that no vector names',
    policy: allow(['ls', '**']),
    tool: start,
    args: vector('touch', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: touchListed,
  },
  {
    name: 'a program where nothing may be started',
    policy: ({ retake }) => retake.presets.noShell(),
    tool: start,
    args: vector('touch', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'every-program', shell: {} }) },
  },
  {
    name: 'another argument than the one that is listed',
    policy: allow(['touch', '{folder}/listed']),
    tool: start,
    args: vector('touch', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: touchListed,
  },
  {
    name: 'one argument more',
    policy: allow(['touch', '{folder}/listed']),
    tool: start,
    args: vector('touch', '{folder}/listed', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '**']) },
  },
  {
    name: 'two arguments written as one',
    policy: allow(['touch', '{folder}/listed']),
    tool: start,
    args: vector('touch {mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: touchListed,
  },
  {
    name: 'a path that climbs out of a pattern',
    policy: allow(['touch', '{folder}/inner/*']),
    tool: start,
    args: (world) => {
      mkdirSync(join(world.folder, 'inner'))
      return vector('touch', '{folder}/inner/../mark')(world)
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '{folder}/*']), args: vector('touch', '{folder}/mark') },
  },
  {
    name: 'a name with a line break',
    policy: allow(['ls', '**']),
    tool: start,
    args: vector('ls\ntouch', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: touchListed,
  },

  // ── programs that run programs ────────────────────────────────────────────
  {
    name: 'env, which runs what follows',
    policy: allow(['ls', '**']),
    tool: start,
    args: vector('env', 'A=b', 'touch', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['env', 'A=b', 'touch', '{mark}']) },
  },
  {
    name: 'xargs, which runs what it reads',
    policy: allow(['ls', '**']),
    tool: async (_args, { mark }) => {
      const child = childProcess.spawn('xargs', ['touch'])
      child.stdin.end(mark)
      await ended(child)
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['xargs', 'touch']) },
  },
  {
    name: 'find -exec, after arguments that fit',
    policy: allow(['find', '*', '-name', '*']),
    tool: start,
    args: vector('find', '.', '-name', '.', '-exec', 'touch', '{mark}', ';'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['find', '*', '-name', '*', '-exec', 'touch', '*', ';']) },
  },
  {
    name: 'find -fprint, which writes a file',
    policy: allow(['find', '**']),
    tool: start,
    args: vector('find', '.', '-fprint', '{mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['find', '-**']) },
  },
  {
    name: 'tar --checkpoint-action among names of files',
    policy: allow(['tar', '-cf', '*', '**']),
    tool: start,
    args: vector(
      'tar',
      '-cf',
      '/dev/null',
      '--checkpoint=1',
      '--checkpoint-action=exec=touch {mark}',
      '.',
    ),
    code: 'SHELL_NOT_ALLOWED',
    twin: { args: vector('tar', '-cf', '{mark}', '/dev/null') },
  },
  {
    name: 'git -c alias, which runs a shell',
    policy: allow(['git', 'status', '**']),
    tool: start,
    args: vector('git', '-c', 'alias.status=!touch {mark}', 'status'),
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      policy: allow(['git', 'init', '*']),
      args: vector('git', 'init', '{mark}'),
    },
  },
  {
    name: 'git --upload-pack, given as the name of a repository',
    policy: allow(['git', 'ls-remote', '**']),
    tool: start,
    args: vector('git', 'ls-remote', '--upload-pack=touch {mark};', '.'),
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      policy: allow(['git', 'init', '**']),
      args: vector('git', 'init', '{mark}'),
    },
  },
  {
    name: 'node -e',
    policy: allow(['node', '*']),
    tool: start,
    args: vector('node', '-e', "fs.writeFileSync('{mark}', '')"),
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      args: (world) => {
        const file = join(world.folder, 'listed.cjs')
        writeFileSync(file, `require('fs').writeFileSync('${world.mark}', '')`)
        return { file: 'node', args: [file] }
      },
    },
  },
  {
    name: 'perl -e',
    policy: allow(['perl', '*']),
    tool: start,
    args: vector('perl', '-e', "open(F, '>', '{mark}')"),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['perl', '-e', "open(F, '>', '{mark}')"]) },
  },
  {
    name: 'sh -c',
    policy: allow(['ls', '**']),
    tool: start,
    args: vector('sh', '-c', 'touch {mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['sh', '-c', 'touch {mark}']) },
  },
  {
    name: 'bash with options in one word',
    policy: allow(['bash', '*']),
    tool: start,
    args: vector('bash', '-lc', 'touch {mark}'),
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      args: (world) => ({
        file: 'bash',
        args: [script(join(world.folder, 'listed.sh'), `touch ${world.mark}`)],
      }),
    },
  },

  // ── text for a shell ──────────────────────────────────────────────────────
  {
    name: 'exec',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) => exec(`touch ${mark}`),
    code: 'SHELL_STRING',
    twin: { policy: allow(['sh', '-c', 'touch {mark}']) },
  },
  {
    name: 'exec with a callback',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) =>
      new Promise((resolve) => childProcess.exec(`touch ${mark}`, () => resolve())),
    code: 'SHELL_STRING',
    twin: { policy: allow(['sh', '-c', 'touch {mark}']) },
  },
  {
    name: 'execSync',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) => void childProcess.execSync(`touch ${mark}`),
    code: 'SHELL_STRING',
    twin: { policy: allow(['sh', '-c', 'touch {mark}']) },
  },
  {
    name: 'spawn with a shell',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) => ended(childProcess.spawn('touch', [mark], { shell: true })),
    code: 'SHELL_STRING',
    twin: { tool: (_args, { mark }) => ended(childProcess.spawn('touch', [mark])) },
  },
  {
    name: 'spawnSync with a shell',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) => childProcess.spawnSync('touch', [mark], { shell: true }).status,
    code: 'SHELL_STRING',
    twin: { tool: (_args, { mark }) => childProcess.spawnSync('touch', [mark]).status },
  },
  {
    name: 'execFile with a shell of its own',
    policy: allow(['sh', '-c', 'touch {mark}']),
    tool: (_args, { mark }) => execFile(`touch ${mark}`, [], { shell: '/bin/bash' }),
    code: 'SHELL_STRING',
    twin: {
      tool: (_args, { mark }) => execFile(`touch ${mark}`, [], { shell: '/bin/sh' }),
    },
  },
  {
    name: 'more commands after the listed text',
    policy: allow(['sh', '-c', 'echo ok']),
    tool: (_args, { mark }) => exec(`echo ok; touch ${mark}`),
    code: 'SHELL_STRING',
    twin: {
      policy: allow(['sh', '-c', 'echo ok; touch {mark}']),
    },
  },
  {
    name: 'a command put into a text by interpolation, where the text is listed with a pattern',
    policy: allow(['sh', '-c', 'echo *']),
    tool: ({ name }) => exec(`echo ${name}`),
    args: ({ mark }) => ({ name: `$(touch ${mark})` }),
    code: 'SHELL_STRING',
    twin: {
      policy: allow(['sh', '-c', 'echo *'], ['touch', '*']),
      tool: ({ name }) => execFile('touch', [name]),
      args: ({ mark }) => ({ name: mark }),
    },
  },
  {
    name: 'options that ask for a shell the second time they are read',
    policy: allow(['touch', '{mark}']),
    tool: (_args, { mark }) => {
      let reads = 0
      const options = {
        get shell() {
          reads += 1
          return reads > 0
        },
      }
      childProcess.spawnSync(`echo; touch ${mark}`, options)
    },
    code: 'SHELL_STRING',
    twin: { tool: (_args, { mark }) => childProcess.spawnSync('touch', [mark]).status },
  },

  // ── every way to start one ────────────────────────────────────────────────
  {
    name: 'execFileSync',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => void childProcess.execFileSync('touch', [mark]),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'fork',
    policy: allow(['ls', '**']),
    tool: (_args, { folder, mark }) => {
      const file = join(folder, 'child.cjs')
      writeFileSync(file, `require('fs').writeFileSync('${mark}', '')`)
      return ended(childProcess.fork(file))
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow([process.execPath, '*']) },
  },
  {
    name: 'cluster.fork',
    policy: allow(['ls', '**']),
    tool: (_args, { folder, mark }) => {
      const file = join(folder, 'child.cjs')
      writeFileSync(file, `require('fs').writeFileSync('${mark}', ''); process.exit()`)
      cluster.setupPrimary({ exec: file, args: [], execArgv: [] })
      return ended(cluster.fork().process)
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow([process.execPath, '*']) },
  },
  {
    name: 'functions taken before the guard was made',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => earlySpawnSync('touch', [mark]).status,
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'execSync taken before the guard was made',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => void earlyExecSync(`touch ${mark}`),
    code: 'SHELL_STRING',
    twin: { policy: allow(['sh', '-c', 'touch {mark}']) },
  },
  {
    name: 'spawn taken before the guard was made',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => ended(early.spawn('touch', [mark])),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a module that is loaded by code from text',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => {
      const code = `(require, mark) => require('child_process').spawnSync('touch', [mark]).status`
      return vm.runInThisContext(code)(createRequire(import.meta.url), mark)
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'code in a new context',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) =>
      vm.runInNewContext(`start('touch', [mark]).status`, { start: childProcess.spawnSync, mark }),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a program that is started from a timer',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) =>
      new Promise((resolve, reject) => {
        setTimeout(() => {
          try {
            childProcess.spawn('touch', [mark]).once('exit', resolve)
          } catch (error) {
            reject(error)
          }
        }, 1)
      }),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a program that is started by a thenable result',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => ({
      // Query builders do their work when somebody waits for them.
      [THEN]: (resolve, reject) => {
        try {
          childProcess.spawnSync('touch', [mark])
          resolve('done')
        } catch (error) {
          reject(error)
        }
      },
    }),
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a program that is started by a getter of the result',
    policy: allow(['ls', '**']),
    tool: (_args, { mark }) => ({
      get files() {
        childProcess.spawnSync('touch', [mark])
        return 1
      },
    }),
    blocked: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'arguments that read otherwise the second time',
    policy: allow(['touch', '{folder}/listed']),
    tool: (_args, { folder, mark }) => {
      let reads = 0
      const argument = { toString: () => (reads++ === 0 ? `${folder}/listed` : mark) }
      return childProcess.spawnSync('touch', [argument]).status
    },
    check: ({ mark }) => existsSync(mark),
    mayPass: true,
    twin: { ...touchListed, tool: start },
  },

  // ── another program under a listed name ───────────────────────────────────
  {
    name: 'a program beside the working folder, by its listed name',
    policy: allow(['git', 'status']),
    tool: (_args, { folder, mark }) => {
      script(join(folder, 'git'), `#!/bin/sh\ntouch ${mark}`)
      return execFile('./git', ['status'], { cwd: folder })
    },
    code: 'SHELL_NOT_ALLOWED',
    // Without a sandbox, only programs that are there before the guard can be listed.
    twin: {
      policy: (world) => {
        script(join(world.folder, 'git'), `#!/bin/sh\ntouch ${world.mark}`)
        return allow(['{folder}/git', 'status'])(world)
      },
      tool: (_args, { folder }) => execFile('./git', ['status'], { cwd: folder }),
    },
  },
  {
    name: 'a link with the listed name to another program',
    policy: allow(['ls', '**']),
    tool: ({ file, args }) => execFile(file, args),
    args: ({ folder, mark }) => {
      symlinkSync('/usr/bin/touch', join(folder, 'ls'))
      return { file: join(folder, 'ls'), args: [mark] }
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      policy: allow(['touch', '*']),
      args: ({ folder, mark }) => {
        symlinkSync('/usr/bin/touch', join(folder, 'touch'))
        return { file: join(folder, 'touch'), args: [mark] }
      },
    },
  },
  {
    name: 'a copy of another program under the listed name',
    policy: allow(['ls', '**']),
    tool: ({ file, args }) => execFile(file, args),
    args: ({ folder, mark }) => {
      copyFileSync('/usr/bin/touch', join(folder, 'ls'))
      return { file: join(folder, 'ls'), args: [mark] }
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      policy: allow(['touch', '*']),
      args: ({ mark }) => ({ file: '/usr/bin/../bin/touch', args: [mark] }),
    },
  },
  {
    name: 'a PATH with a folder of its own in front',
    policy: allow(['ls', '**']),
    tool: ({ PATH }) => execFile('ls', [], { env: { ...process.env, PATH } }),
    args: ({ folder, mark }) => {
      script(join(folder, 'ls'), `#!/bin/sh\ntouch ${mark}`)
      return { PATH: `${folder}:${process.env.PATH}` }
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { ...touchListed, tool: start },
  },
  {
    name: 'a PATH that finds the listed program first, and others for it',
    policy: allow(['env', 'ls']),
    tool: ({ PATH }) => execFile('env', ['ls'], { env: { ...process.env, PATH } }),
    args: ({ folder, mark }) => {
      script(join(folder, 'ls'), `#!/bin/sh\ntouch ${mark}`)
      return { PATH: `${folder}:${process.env.PATH}` }
    },
    code: 'SHELL_ENVIRONMENT',
    twin: { ...touchListed, tool: start },
  },
  {
    name: 'a PATH of this process that the tool has changed',
    policy: allow(['ls', '**']),
    tool: async (_args, { folder, mark }) => {
      script(join(folder, 'ls'), `#!/bin/sh\ntouch ${mark}`)
      const { PATH } = process.env
      process.env.PATH = `${folder}:${PATH}`
      try {
        await execFile('ls')
      } finally {
        process.env.PATH = PATH
      }
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { ...touchListed, tool: start },
  },
  {
    name: 'NODE_OPTIONS that load a module first',
    policy: allow(['node', '--version'], ['node', '{folder}/listed.cjs']),
    tool: ({ env }, { folder }) => {
      writeFileSync(join(folder, 'listed.cjs'), '')
      const options = { env: { ...process.env, ...env } }
      return execFile('node', [join(folder, 'listed.cjs')], options)
    },
    args: ({ folder, mark }) => {
      const file = join(folder, 'first.cjs')
      writeFileSync(file, `require('fs').writeFileSync('${mark}', '')`)
      return { env: { NODE_OPTIONS: `--require=${file}` } }
    },
    code: 'SHELL_ENVIRONMENT',
    twin: {
      policy: (world) => ({
        name: 'programs',
        shell: { allow: [['node', join(world.folder, 'listed.cjs')]], env: ['NODE_OPT*'] },
      }),
    },
  },
  {
    name: 'LD_PRELOAD',
    policy: allow(['touch', '*']),
    tool: (_args, { mark }) =>
      execFile('touch', [mark], { env: { ...process.env, LD_PRELOAD: '/x.so' } }),
    code: 'SHELL_ENVIRONMENT',
    twin: { tool: (_args, { mark }) => execFile('touch', [mark], { env: {} }) },
  },
  {
    name: 'a variable that git runs as a program',
    policy: allow(['git', 'diff', '**']),
    tool: async (_args, { folder, mark }) => {
      const env = { ...process.env, GIT_EXTERNAL_DIFF: `touch ${mark}; :` }
      writeFileSync(join(folder, 'a'), '')
      await execFile('git', ['diff', '/dev/null', 'a'], { cwd: folder, env }).catch((error) => {
        if (error.code !== 1) throw error
      })
    },
    code: 'SHELL_ENVIRONMENT',
    twin: { ...touchListed, tool: start },
  },
  {
    name: 'another name for the program that is started',
    policy: allow(['bash', '*']),
    tool: (_args, { folder, mark }) =>
      ended(
        childProcess.spawn('bash', [script(join(folder, 'a.sh'), `touch ${mark}`)], {
          argv0: 'sh',
        }),
      ),
    code: 'SHELL_NOT_ALLOWED',
    twin: {
      tool: (_args, { folder, mark }) =>
        execFile('bash', [script(join(folder, 'a.sh'), `touch ${mark}`)]),
    },
  },
  {
    name: 'another user',
    policy: allow(['touch', '*']),
    tool: (_args, { mark }) => execFile('touch', [mark], { uid: process.getuid() + 1 }),
    code: 'SHELL_ENVIRONMENT',
    twin: {
      tool: (_args, { mark }) => execFile('touch', [mark], { uid: process.getuid() }),
    },
  },
  {
    name: 'a working folder outside of the files that are allowed',
    policy: ({ folder }) => ({
      name: 'inside',
      files: { read: [join(folder, 'root')], write: [join(folder, 'root')] },
      shell: { allow: [['touch', 'mark']] },
    }),
    tool: ({ cwd }) => execFile('touch', ['mark'], { cwd }),
    args: ({ folder }) => {
      mkdirSync(join(folder, 'root'))
      return { cwd: folder }
    },
    code: 'PATH_OUTSIDE_ROOT',
    twin: {
      args: ({ folder }) => {
        mkdirSync(join(folder, 'root'))
        return { cwd: join(folder, 'root') }
      },
      check: ({ folder }) => existsSync(join(folder, 'root', 'mark')),
    },
  },
  {
    name: 'a path that a pattern lets through, outside of the files that are allowed',
    policy: ({ folder }) => ({
      name: 'inside',
      files: { read: [join(folder, 'root')], write: [join(folder, 'root')] },
      shell: { allow: [['touch', '*']] },
    }),
    tool: ({ name }, { folder }) => execFile('touch', [join(folder, name)]),
    args: ({ folder }) => {
      mkdirSync(join(folder, 'root'))
      return { name: 'mark' }
    },
    // In the sandbox the folder around is another one, which ends with the program.
    mayPass: true,
    twin: {
      tool: ({ name }, { folder }) => execFile('touch', [join(folder, 'root', name)]),
      check: ({ folder }) => existsSync(join(folder, 'root', 'mark')),
    },
  },

  // ── threads and native code ───────────────────────────────────────────────
  {
    name: 'a worker',
    policy: allow(['ls', '**']),
    tool: ({ file }) => ended(new Worker(file)),
    args: ({ folder, mark }) => {
      const file = join(folder, 'worker.cjs')
      writeFileSync(file, `require('fs').writeFileSync('${mark}', '')`)
      return { file }
    },
    code: 'WORKER_NOT_ALLOWED',
    twin: { policy: allow(['worker', '{folder}/worker.cjs']) },
  },
  {
    name: 'a worker under a scope for files alone',
    policy: ({ folder }) => ({ name: 'files', files: { write: [join(folder, 'root')] } }),
    tool: ({ code }) => ended(new Worker(code, { eval: true })),
    args: ({ mark }) => ({
      // Put together by the tool: looking at the arguments does not help.
      code: `require('fs').writeFileSync(Buffer.from('${Buffer.from(mark).toString('hex')}', 'hex').toString(), '')`,
    }),
    code: 'WORKER_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'nothing-said' }) },
  },
  {
    name: 'a worker of code',
    policy: allow(['worker', '{folder}/worker.cjs']),
    tool: (_args, { mark }) =>
      ended(new Worker(`require('fs').writeFileSync('${mark}', '')`, { eval: true })),
    code: 'WORKER_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'every-program', shell: {} }) },
  },
  {
    name: 'a worker of code that is called a file',
    policy: allow(['worker', '{folder}/*']),
    tool: (_args, { folder, mark }) => {
      const code = `${folder}/.length; require('fs').writeFileSync('${mark}', '')`
      return ended(new Worker(code, { eval: 1 }))
    },
    code: 'WORKER_NOT_ALLOWED',
    twin: {
      tool: (_args, { folder, mark }) => {
        const file = join(folder, 'worker.cjs')
        writeFileSync(file, `require('fs').writeFileSync('${mark}', '')`)
        return ended(new Worker(file))
      },
    },
  },
  {
    name: 'a worker from a data URL',
    policy: allow(['worker', '{folder}/worker.cjs']),
    tool: (_args, { mark }) => {
      const code = `import fs from 'node:fs'; fs.writeFileSync('${mark}', '')`
      return ended(new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`)))
    },
    code: 'WORKER_NOT_ALLOWED',
    twin: { policy: () => ({ name: 'every-program', shell: {} }) },
  },
  {
    name: 'a native addon',
    policy: allow(['ls', '**']),
    tool: (_args, { folder }) => {
      const file = join(folder, 'native.node')
      writeFileSync(file, '')
      try {
        createRequire(import.meta.url)(file)
      } catch (error) {
        if (error.code !== 'ERR_DLOPEN_FAILED') throw error
      }
    },
    code: 'NATIVE_ADDON',
    isMarked: false,
    twin: { policy: allow(['addon', '{folder}/native.node']), isMarked: false },
  },

  // ── this process, and others ──────────────────────────────────────────────
  ...[
    ['process.exit', () => process.exit(3)],
    ['process.reallyExit', () => process.reallyExit(3)],
    ['process.abort', () => process.abort()],
  ].map(([name, end]) => ({
    name,
    policy: () => [],
    tool: () => end(),
    code: 'PROCESS_EXIT',
    isMarked: false,
    twin: { tool: () => void (process.exitCode = 0), isMarked: false },
  })),
  {
    name: 'process.exit in a timer that nobody waits for',
    policy: () => [],
    tool: () =>
      new Promise((resolve) => {
        setTimeout(() => process.exit(3), 0)
        setTimeout(resolve, 5)
      }),
    blocked: 'PROCESS_EXIT',
    isMarked: false,
    twin: { tool: () => {}, isMarked: false },
  },
  {
    name: 'process.exit in a promise that was let go',
    policy: () => [],
    tool: async () => {
      void (async () => process.exit(3))().catch(() => {})
    },
    blocked: 'PROCESS_EXIT',
    isMarked: false,
    twin: { tool: () => {}, isMarked: false },
  },
  {
    name: 'a signal to this process',
    policy: () => [],
    tool: () => process.kill(process.pid, 'SIGKILL'),
    code: 'PROCESS_SIGNAL',
    isMarked: false,
    twin: { tool: () => process.kill(process.pid, 0), isMarked: false },
  },
  {
    name: 'a signal to the group of this process',
    policy: () => [],
    tool: () => process.kill(0, 'SIGTERM'),
    code: 'PROCESS_SIGNAL',
    isMarked: false,
    twin: { tool: () => process.kill(0, 0), isMarked: false },
  },
  {
    name: 'a signal to another process',
    policy: allow(['node', '-e', SLEEPER]),
    tool: ({ pid }) => process.kill(pid, 'SIGKILL'),
    args: (world) => {
      world.victim = childProcess.spawn('node', ['-e', SLEEPER])
      return { pid: world.victim.pid }
    },
    code: 'SIGNAL_NOT_ALLOWED',
    check: async ({ victim }) => {
      const isDead = !isThere(victim.pid)
      victim.kill('SIGKILL')
      await ended(victim)
      return isDead
    },
    twin: {
      policy: allow(['kill', '-SIGKILL', '*']),
      check: async ({ victim }) =>
        (victim.exitCode ?? victim.signalCode ?? (await ended(victim))) !== 0,
    },
  },
  {
    name: 'a signal to what another call has started',
    policy: allow(['node', '-e', SLEEPER]),
    tool: ({ pid }) => process.kill(-pid, 'SIGKILL'),
    args: (world) => {
      world.victim = childProcess.spawn('node', ['-e', SLEEPER], { detached: true })
      return { pid: world.victim.pid }
    },
    code: 'SIGNAL_NOT_ALLOWED',
    check: async ({ victim }) => {
      const isDead = !isThere(victim.pid)
      victim.kill('SIGKILL')
      await ended(victim)
      return isDead
    },
    twin: {
      args: undefined,
      tool: async (_args, world) => {
        const child = childProcess.spawn('node', ['-e', SLEEPER])
        process.kill(child.pid, 'SIGKILL')
        await ended(child)
        writeFileSync(world.mark, '')
      },
      check: ({ mark }) => existsSync(mark),
    },
  },

  // ── out of one call into another ──────────────────────────────────────────
  {
    name: 'a guard inside a guarded tool that allows more',
    policy: allow(['ls', '**']),
    tool: async (_args, { folder, mark, retake }) => {
      const inner = retake.guard({ name: 'inner', dir: join(folder, 'inner') })
      const touch = inner.tool('touch', (file) => childProcess.spawnSync('touch', [file]).status)
      try {
        return await touch(mark)
      } finally {
        inner.end()
      }
    },
    status: ['denied', 'failed'],
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a recording inside a guarded tool',
    policy: allow(['ls', '**']),
    tool: async (_args, { folder, mark, retake }) => {
      const agent = async () => {
        childProcess.spawnSync('touch', [mark])
        await ended(childProcess.spawn('touch', [mark]))
      }
      await retake.record({ name: 'inner', dir: join(folder, 'inner') }, agent)
    },
    code: 'SHELL_NOT_ALLOWED',
    twin: { policy: allow(['touch', '*']) },
  },
  {
    name: 'a process that outlives the call',
    policy: allow(['node', '-e', SLEEPER]),
    tool: () => childProcess.spawn('node', ['-e', SLEEPER], { stdio: 'ignore' }).pid,
    check: (_world, { output }) => outlives(output),
    mayPass: true,
    twin: {
      tool: async () => {
        const child = childProcess.spawn('node', ['-e', ''], { stdio: 'ignore' })
        return await ended(child)
      },
      policy: allow(['node', '-e', '']),
      check: (_world, { output }) => output === 0,
    },
  },
  {
    name: 'a process of a group of its own that outlives the call',
    policy: allow(['sh', '-c', BEATS]),
    tool: (_args, world) =>
      new Promise((resolve) => {
        const options = { detached: true, stdio: ['ignore', 'pipe', 'ignore'] }
        const child = childProcess.spawn('sh', ['-c', fill(BEATS, world)], options)
        child.unref()
        child.stdout.once('data', () => setTimeout(resolve, 100))
      }),
    check: beats,
    mayPass: true,
    twin: { ...touchListed, tool: start, check: undefined },
  },
  {
    name: 'a grandchild that outlives the call',
    policy: allow(['sh', '-c', BEATS]),
    tool: (_args, world) =>
      new Promise((resolve) => {
        const child = childProcess.spawn('sh', ['-c', fill(BEATS, world)])
        child.stdout.once('data', () => setTimeout(resolve, 100))
      }),
    check: beats,
    mayPass: true,
    twin: { ...touchListed, tool: start, check: undefined },
  },
  {
    name: 'a process of a call that took too long',
    policy: allow(['node', '-e', SLEEPER]),
    options: () => ({ limits: { timeoutMs: 500 } }),
    tool: (_args, world) => {
      const child = childProcess.spawn('node', ['-e', SLEEPER], { stdio: 'ignore' })
      world.pid = child.pid
      return ended(child)
    },
    status: ['stopped'],
    check: ({ pid }) => outlives(pid),
    twin: { ...touchListed, tool: start, check: undefined, options: undefined },
  },
  {
    name: 'a program that is started after the call is over',
    policy: allow(['touch', '*']),
    tool: (_args, world) => {
      world.later = new Promise((resolve) => {
        setTimeout(() => {
          try {
            childProcess.spawnSync('touch', [world.mark])
            resolve('started')
          } catch (error) {
            resolve(error.code)
          }
        }, 20)
      })
    },
    check: async ({ later, mark }) => (await later) !== 'GUARD_CALL_OVER' || existsSync(mark),
    mayPass: true,
    twin: {
      tool: async (_args, world) => void childProcess.spawnSync('touch', [world.mark]),
      check: undefined,
    },
  },
]
