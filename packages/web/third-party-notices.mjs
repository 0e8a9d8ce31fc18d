/**
 * The licences of what a build holds of others, as they ask to be handed on with it.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Folders of the packages that a build took something from.
 *
 * @param {readonly string[]} modules Files that went into it, by their full paths.
 */
export function packagesOf(modules) {
  const folders = modules.flatMap((module) => {
    const [, folder] =
      /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(module) ?? []
    return folder === undefined ? [] : [folder.replace(/^\0/, '')]
  })
  return [...new Set(folders)]
}

/**
 * Each licence once, with the packages it is of. A package without a licence file fails
 * the build: what may not be handed on does not go into a page by accident.
 *
 * @param {readonly string[]} folders
 */
export function thirdPartyNotices(folders) {
  /** @type {Map<string, Set<string>>} */
  const packages = new Map()
  for (const folder of folders) {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} is in the viewer and has no licence file`)
    const text = readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim()
    packages.set(text, (packages.get(text) ?? new Set()).add(`${name} ${version}`))
  }
  const parts = [...packages].map(
    ([text, names]) => `${[...names].toSorted().join(', ')}\n\n${text}`,
  )
  const head = 'The viewer of Retake holds parts of these packages, under their licences.'
  return `${[head, ...parts.toSorted()].join(`\n\n${'-'.repeat(72)}\n\n`)}\n`
}
