/**
 * Releases all packages with one version, in two commands:
 *
 *     node scripts/release.mjs 0.2.0       checks, sets the version, packs, prints what is next
 *     node scripts/release.mjs --publish   publishes what was packed, with provenance (in CI)
 *
 * Nothing is published without `--publish`.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageNames, root } from './run-command.mjs'

const tarballs = join(root, 'release')
const read = (path) => readFileSync(join(root, path), 'utf8')
const write = (path, text) => writeFileSync(join(root, path), text)
const run = (file, args, options) =>
  execFileSync(file, args, { cwd: root, encoding: 'utf8', ...options })

/** Folders of the published packages, each after those it depends on. */
export function publishOrder() {
  const manifests = new Map(
    packageNames
      .map((folder) => [folder, JSON.parse(read(`packages/${folder}/package.json`))])
      .filter(([, manifest]) => manifest.private !== true),
  )
  const ordered = []
  const add = (folder) => {
    if (ordered.includes(folder)) return
    const { dependencies, peerDependencies } = manifests.get(folder)
    const needed = { ...dependencies, ...peerDependencies }
    for (const [other, { name }] of manifests) if (name in needed) add(other)
    ordered.push(folder)
  }
  for (const folder of manifests.keys()) add(folder)
  return ordered
}

/** A manifest with another version of itself and of its sibling packages; its layout stays. */
export const withVersion = (manifest, from, to) =>
  manifest.replaceAll(/("(?:version|retake|@retake\/\w+)": ")([^"]+)"/g, (found, key, version) =>
    version === from ? `${key}${to}"` : found,
  )

/** The changelog with its unreleased changes under a version; refuses when there are none. */
export function withReleased(changelog, version, date) {
  const [, changes = ''] = /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog) ?? []
  if (changes.trim() === '') throw new Error('CHANGELOG.md has nothing under "Unreleased".')
  return changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} (${date})\n`)
}

/** True for a plain version, or a prerelease, that is higher than the other one. */
export function isHigher(version, than) {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) return false
  const parts = (text) => text.split('-')[0].split('.').map(Number)
  const [a, b] = [parts(version), parts(than)]
  const index = a.findIndex((part, at) => part !== b[at])
  return index === -1 ? than.includes('-') && !version.includes('-') : a[index] > b[index]
}

function prepare(version) {
  const { version: current } = JSON.parse(read('packages/cli/package.json'))
  if (!isHigher(version, current)) throw new Error(`${version} is not a version after ${current}.`)
  if (run('git', ['status', '--porcelain']) !== '') throw new Error('Commit your changes first.')
  const changelog = withReleased(
    read('CHANGELOG.md'),
    version,
    new Date().toISOString().slice(0, 10),
  )
  run('npm', ['ci'], { stdio: 'inherit' })
  run('npm', ['test'], { stdio: 'inherit' })

  write('CHANGELOG.md', changelog)
  for (const folder of publishOrder()) {
    const path = `packages/${folder}/package.json`
    write(path, withVersion(read(path), current, version))
  }
  run('npm', ['install', '--package-lock-only', '--ignore-scripts'], { stdio: 'inherit' })
  pack()
  console.log(`
Check the files above, then:
  git commit -am "Release ${version}" && git tag v${version} && git push --follow-tags
CI publishes the tag with: node scripts/release.mjs --publish`)
}

/** Writes the tarballs, and lists them with their sizes. */
function pack() {
  rmSync(tarballs, { recursive: true, force: true })
  mkdirSync(tarballs)
  return publishOrder().map((folder) => {
    const packed = run('npm', [
      'pack',
      '--json',
      '--pack-destination',
      tarballs,
      `./packages/${folder}`,
    ])
    const [{ filename, entryCount }] = JSON.parse(packed)
    const file = join(tarballs, filename)
    console.log(`${filename}  ${entryCount} files  ${Math.ceil(statSync(file).size / 1024)} KB`)
    return file
  })
}

function publish() {
  if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined)
    throw new Error('Provenance needs a CI job with the permission `id-token: write`.')
  for (const file of pack())
    run('npm', ['publish', file, '--provenance', '--access', 'public'], { stdio: 'inherit' })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [argument, ...rest] = process.argv.slice(2)
  try {
    if (argument === undefined || rest.length > 0)
      throw new Error('usage: node scripts/release.mjs <version> | --publish')
    if (argument === '--publish') publish()
    else prepare(argument)
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
