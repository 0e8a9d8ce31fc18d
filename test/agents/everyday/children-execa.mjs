import { execa } from 'execa'
import { ask } from './model.mjs'

const { stdout } = await execa('sh', ['-c', 'echo $$; date +%N'])
console.log(stdout)
console.log(await ask('after the command'))
const failed = await execa('sh', ['-c', 'echo oops >&2; exit 3'], { reject: false })
console.log(failed.exitCode, failed.stderr)
