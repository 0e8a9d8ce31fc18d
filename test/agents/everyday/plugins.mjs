// Loads whatever is in a folder, as agents with skills do.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { ask } from './model.mjs'

await mkdir('skills', { recursive: true })
await writeFile('skills/greet.mjs', `export default (text) => 'Greeting: ' + text\n`)
for (const name of await readdir('skills')) {
  const { default: skill } = await import(`./skills/${name}`)
  console.log(name, skill(await ask(name)))
}
