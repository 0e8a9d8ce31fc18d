import { execFile, execFileSync, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { ask } from './model.mjs'

const git = (...args) => promisify(execFile)('git', args)
await git('init', '-q')
await git(
  '-c',
  'user.name=a',
  '-c',
  'user.email=a@localhost',
  'commit',
  '-qm',
  await ask('subject'),
  '--allow-empty',
)
console.log((await git('log', '--format=%H %s')).stdout)
console.log(execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }))
const sort = spawn('sort', { stdio: ['pipe', 'inherit', 'inherit'] })
sort.stdin.end('pear\napple\n')
sort.on('close', (code) => console.log('sort ended with', code))
