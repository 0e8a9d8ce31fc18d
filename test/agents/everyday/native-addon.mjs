import { parseSync } from 'oxc-parser'
import { ask } from './model.mjs'

const { program } = parseSync('tool.js', await ask('write some code'))
console.log(program.type)
