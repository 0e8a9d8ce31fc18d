import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../../../docs/frameworks.md', import.meta.url), 'utf8')
const doors = readdirSync(new URL('.', import.meta.url)).filter((name) =>
  existsSync(new URL(`${name}/index.ts`, import.meta.url)),
)

test.each(doors)('docs/frameworks.md lists what retake/%s exports', async (door) => {
  const [, listed = ''] = new RegExp(`^\\| \`retake/${door}\` \\| (.+?) \\|`, 'm').exec(page) ?? []
  const exported = Object.keys((await import(`./${door}/index.ts`)) as object)
  expect(listed.split(', ').toSorted()).toEqual(exported.map((name) => `\`${name}\``).toSorted())
})
