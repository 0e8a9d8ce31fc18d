import { parseAst } from 'rolldown/parseAst'
import { ask } from './model.mjs'

const { body } = parseAst(`export const answer = ${JSON.stringify(await ask('write some code'))}`)
console.log(body[0].type)
