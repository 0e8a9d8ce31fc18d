/** Licences of the packages that a build contains. They require to be shipped with it. */
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
 * Each licence once, with its packages. A package without a licence fails the build, so that nothing is
 * shipped without permission by accident.
 *
 * @param {readonly string[]} folders
 * @param {string} product
 */
export function thirdPartyNotices(folders, product = 'The viewer of Retake') {
  /** @type {Map<string, Set<string>>} */
  const packages = new Map()
  for (const folder of folders) {
    const { name, version, license, author } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined && license !== 'MIT')
      throw new Error(`${name} is bundled and has no licence`)
    const text =
      file === undefined
        ? `Licence: MIT, as declared by its author${author === undefined ? '' : `, ${author.name ?? author}`}. The package has no text of it.`
        : readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim()
    packages.set(text, (packages.get(text) ?? new Set()).add(`${name} ${version}`))
  }
  const parts = [...packages].map(
    ([text, names]) => `${[...names].toSorted().join(', ')}\n\n${text}`,
  )
  const head = `${product} contains parts of these packages, under their licences.`
  return `${[head, ...parts.toSorted()].join(`\n\n${'-'.repeat(72)}\n\n`)}\n`
}
