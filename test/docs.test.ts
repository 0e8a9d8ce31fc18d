import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const pages = ['', 'docs', 'docs/errors', 'docs/decisions'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
)
const read = (page: string): string => readFileSync(join(root, page), 'utf8')

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const anchorsIn = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

test('every link in the documentation leads to a file and to a heading', () => {
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, target = '']) => !/^\w+:/.test(target))
      .filter(([, target = '', anchor]) => {
        const file = target === '' ? page : join(dirname(page), target)
        if (!existsSync(join(root, file))) return true
        return anchor !== undefined && file.endsWith('.md') && !anchorsIn(file).includes(anchor)
      })
      .map(([link]) => `${page}: ${link}`),
  )
  expect(dead).toEqual([])
})

/** Paths are written from `packages`, or as names of files in a folder that the section has named before. */
test('every file that ARCHITECTURE.md names exists', () => {
  const missing = read('ARCHITECTURE.md')
    .split(/^## /m)
    .flatMap((section) => {
      const folders = ['', 'packages']
      return [...section.matchAll(/`([\w.@/-]+)`/g)]
        .map(([, name = '']) => name)
        .filter((name) =>
          /^(\w+\/src\/|test\/|docs\/|scripts\/|packages\/)|^[\w-]+\.m?tsx?$/.test(name),
        )
        .filter((name) => {
          const found = folders
            .map((each) => join(each, name))
            .find((each) => existsSync(join(root, each)))
          if (found === undefined) return true
          folders.push(statSync(join(root, found)).isDirectory() ? found : dirname(found))
          return false
        })
    })
  expect(missing, 'a file was moved or merged: name where it is now').toEqual([])
})
