import { shop } from '@acme/prompts'
import { shout } from '@/shout'
import { ask } from '#model'

console.log(shout(await ask(shop)))
