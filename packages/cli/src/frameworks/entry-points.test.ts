import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../../../docs/frameworks.md', import.meta.url), 'utf8')
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
const adapters = [...manifest.matchAll(/dist\/frameworks\/([\w-]+)\.d\.ts/g)].map(
  ([, name]) => name,
)

test.each(adapters)('docs/frameworks.md lists what retake/%s exports', async (name) => {
  const [, listed = ''] = new RegExp(`^\\| \`retake/${name}\` \\| (.+?) \\|`, 'm').exec(page) ?? []
  const exported = Object.keys(
    (await import(/* @vite-ignore */ new URL(`${name}.ts`, import.meta.url).href)) as object,
  )
  expect(listed.split(', ').toSorted()).toEqual(exported.map((each) => `\`${each}\``).toSorted())
})
