import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))
const pages = ['', 'docs', 'docs/errors', 'docs/decisions', 'bench/notes'].flatMap((folder) =>
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

/** Requirements of levels 1 and 2 of OWASP ASVS 5.0.0: the last parts of their numbers by section. */
const ASVS: Readonly<Record<string, string>> = {
  '1.1': '1 2',
  '1.2': '1 2 3 4 5 6 7 8 9',
  '1.3': '1 2 3 4 5 6 7 8 9 10 11',
  '1.4': '1 2 3',
  '1.5': '1 2',
  '2.1': '1 2 3',
  '2.2': '1 2 3',
  '2.3': '1 2 3 4',
  '2.4': '1',
  '3.2': '1 2',
  '3.3': '1 2 3 4',
  '3.4': '1 2 3 4 5 6',
  '3.5': '1 2 3 4 5',
  '3.7': '1 2',
  '4.1': '1 2 3',
  '4.2': '1',
  '4.3': '1 2',
  '4.4': '1 2 3 4',
  '5.1': '1',
  '5.2': '1 2 3',
  '5.3': '1 2',
  '5.4': '1 2 3',
  '6.1': '1 2 3',
  '6.2': '1 2 3 4 5 6 7 8 9 10 11 12',
  '6.3': '1 2 3 4',
  '6.4': '1 2 3 4',
  '6.5': '1 2 3 4 5',
  '6.6': '1 2 3',
  '6.8': '1 2 3 4',
  '7.1': '1 2 3',
  '7.2': '1 2 3 4',
  '7.3': '1 2',
  '7.4': '1 2 3 4 5',
  '7.5': '1 2',
  '7.6': '1 2',
  '8.1': '1 2',
  '8.2': '1 2 3',
  '8.3': '1',
  '8.4': '1',
  '9.1': '1 2 3',
  '9.2': '1 2 3 4',
  '10.1': '1 2',
  '10.2': '1 2',
  '10.3': '1 2 3 4',
  '10.4': '1 2 3 4 5 6 7 8 9 10 11',
  '10.5': '1 2 3 4 5',
  '10.6': '1 2',
  '10.7': '1 2 3',
  '11.1': '1 2',
  '11.2': '1 2 3',
  '11.3': '1 2 3',
  '11.4': '1 2 3 4',
  '11.5': '1',
  '11.6': '1',
  '12.1': '1 2 3',
  '12.2': '1 2',
  '12.3': '1 2 3 4',
  '13.1': '1',
  '13.2': '1 2 3 4 5',
  '13.3': '1 2',
  '13.4': '1 2 3 4 5',
  '14.1': '1 2',
  '14.2': '1 2 3 4',
  '14.3': '1 2 3',
  '15.1': '1 2 3',
  '15.2': '1 2 3',
  '15.3': '1 2 3 4 5 6 7',
  '16.1': '1',
  '16.2': '1 2 3 4 5',
  '16.3': '1 2 3 4',
  '16.4': '1 2 3',
  '16.5': '1 2 3',
  '17.1': '1',
  '17.2': '1 2 3 4',
  '17.3': '1 2',
}

test('bench/notes/asvs.md answers every requirement of ASVS level 2 once, and names files that exist', () => {
  const marks: Record<string, number> = {}
  const answered: string[] = []
  const missing: string[] = []
  const all = Object.entries(ASVS).flatMap(([section, parts]) =>
    parts.split(' ').map((part) => `${section}.${part}`),
  )
  const page = read('bench/notes/asvs.md')
  for (const [, numbers = '', mark = '', how = ''] of page.matchAll(
    /^\| ((?:\d+\.\d+\.\d+[–, ]*)+)[^|]*\| (.) \| (.*) \|$/gm,
  )) {
    const found = numbers.split(', ').flatMap((each) => {
      const [from = '', to = from] = each.trim().split('–')
      return all.slice(all.indexOf(from), all.indexOf(to) + 1)
    })
    answered.push(...found)
    marks[mark] = (marks[mark] ?? 0) + found.length
    const files = [...how.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file)
    missing.push(
      ...files.filter((file) =>
        ['', 'test/server', 'packages/server/src'].every(
          (folder) => !existsSync(join(root, folder, file)),
        ),
      ),
    )
  }
  expect(answered.toSorted()).toEqual(all.toSorted())
  expect(missing).toEqual([])
  const { '✔': met, '◐': partly, '✘': not, '–': apart } = marks
  expect(page).toContain(
    `All ${all.length} requirements of levels 1 and 2 of version 5.0.0, in our words, compared with the code line by line: ${met} met (✔), ${partly} partly (◐), ${not} not met (✘), ${apart} that do not apply (–).`,
  )
  expect(read('docs/security.md')).toContain(
    `Of the ${all.length} requirements of levels 1 and 2, compared with the code line by line, ${met} are met, ${partly} partly, ${not} not, and ${apart} do not apply.`,
  )
})
